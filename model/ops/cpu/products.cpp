#include "model/ops/cpu/products.h"

#include <omp.h>

#include <dnnl.hpp>
#include <mutex>
#include <unordered_map>

#include "core/check.h"
#include "core/files.h"
#include "model/ops/cpu/vector_products.h"

namespace zoetrope {
namespace {

using dnnl::memory;

memory::data_type type_of(DType dtype) {
  return dtype == DType::kBF16 ? memory::data_type::bf16 : memory::data_type::f32;
}

memory::desc a_desc(const Product& p) { return {{p.m, p.k}, type_of(p.in), {p.a_row, p.a_column}}; }
memory::desc b_desc(const Product& p) { return {{p.k, p.n}, type_of(p.in), {p.b_row, p.b_column}}; }
memory::desc c_desc(const Product& p) { return {{p.m, p.n}, type_of(p.out), {p.c_row, 1}}; }
memory::desc bias_desc(const Product& p) { return {{1, p.n}, type_of(p.bias), {p.n, 1}}; }

const dnnl::engine& cpu_engine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

dnnl::matmul::primitive_desc describe(const Product& p) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (p.accumulate) {
    dnnl::post_ops sum;
    sum.append_sum(1.0f);
    attributes.set_post_ops(sum);
  }
#if DNNL_VERSION_MAJOR >= 3
  if (p.has_bias) return {cpu_engine(), a_desc(p), b_desc(p), bias_desc(p), c_desc(p), attributes};
  return {cpu_engine(), a_desc(p), b_desc(p), c_desc(p), attributes};
#else
  if (p.has_bias)
    return {dnnl::matmul::desc(a_desc(p), b_desc(p), bias_desc(p), c_desc(p)), attributes, cpu_engine()};
  return {dnnl::matmul::desc(a_desc(p), b_desc(p), c_desc(p)), attributes, cpu_engine()};
#endif
}

struct Entry {
  dnnl::matmul primitive;
  dnnl::matmul::primitive_desc description;
  std::string implementation;
};

struct Hash {
  size_t operator()(const Product& p) const {
    const int64_t numbers[] = {
        p.m,         p.n,     p.k,           p.a_row,        p.a_column,      p.b_row,
        p.b_column,  p.c_row, int64_t(p.in), int64_t(p.out), int64_t(p.bias), p.has_bias,
        p.accumulate};
    return fnv1a({reinterpret_cast<const char*>(numbers), sizeof numbers});
  }
};

}  // namespace

// Note [One OpenMP thread]: Debian's oneDNN runs on libgomp, whose idle workers spin and take the cores from
// our own pool. So every product runs with one OpenMP thread on the pool thread that calls it: libgomp then
// never starts a worker. The number is a per-thread setting of libgomp, and oneDNN fixes it in a primitive
// when that is created, so it is set before both.
struct Products::Cache {
  std::mutex mutex;
  std::unordered_map<Product, Entry, Hash> entries;

  const Entry& find(const Product& product) {
    const std::lock_guard lock(mutex);
    const auto found = entries.find(product);
    if (found != entries.end()) return found->second;
    omp_set_num_threads(1);
    try {
      const auto description = describe(product);
      return entries
          .emplace(product, Entry{dnnl::matmul(description), description, description.impl_info_str()})
          .first->second;
    } catch (const dnnl::error& error) {
      throw Error(join_message("oneDNN has no product [", product.m, ", ", product.k, "] x [", product.k,
                               ", ", product.n, "] of ", name_of(product.in), " to ", name_of(product.out),
                               ": ", error.what()));
    }
  }
};

Products::Products() : cache_(std::make_unique<Cache>()) {}
Products::~Products() = default;

int64_t Products::scratch_bytes(const Product& product) const {
  if (cpu::is_vector_product(product)) return 0;
  return int64_t(cache_->find(product).description.scratchpad_desc().get_size());
}

const char* Products::implementation(const Product& product) const {
  if (cpu::is_vector_product(product)) return "own loops";
  return cache_->find(product).implementation.c_str();
}

void Products::run(const Product& p, void* c, const void* a, const void* b, const void* bias,
                   void* scratch) const {
  if (cpu::is_vector_product(p)) return cpu::vector_product(p, c, a, b, bias);
  const Entry& entry = cache_->find(p);
  thread_local dnnl::stream stream(cpu_engine());
  omp_set_num_threads(1);
  const auto wrap = [](const memory::desc& desc, const void* data) {
    return memory(desc, cpu_engine(), const_cast<void*>(data));
  };
  std::unordered_map<int, memory> arguments{
      {DNNL_ARG_SRC, wrap(a_desc(p), a)},
      {DNNL_ARG_WEIGHTS, wrap(b_desc(p), b)},
      {DNNL_ARG_DST, wrap(c_desc(p), c)},
      {DNNL_ARG_SCRATCHPAD, wrap(entry.description.scratchpad_desc(), scratch)}};
  if (p.has_bias) arguments.emplace(DNNL_ARG_BIAS, wrap(bias_desc(p), bias));
  entry.primitive.execute(stream, arguments);
  stream.wait();
}

bool has_native_bf16() {
  // The values are sets of instruction groups, and later processors' contain earlier ones'.
  const int wanted = int(dnnl::cpu_isa::avx512_core_bf16);
  return (int(dnnl::get_effective_cpu_isa()) & wanted) == wanted;
}

const char* product_library() { return "oneDNN"; }

}  // namespace zoetrope
