#include "model/ops/cpu/product_rate.h"

#include <omp.h>

#include <algorithm>
#include <chrono>
#include <dnnl.hpp>
#include <memory>
#include <unordered_map>
#include <vector>

#include "core/check.h"

namespace zoetrope {
namespace {

using dnnl::memory;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Small numbers of both signs: no overflow, no denormals, no zeros that a kernel could be quicker on.
memory filled(const memory::desc& desc, memory::data_type type, const dnnl::engine& engine) {
  memory values(desc, engine);
  const size_t bytes = desc.get_size();
  if (type == memory::data_type::f32) {
    auto* numbers = static_cast<float*>(values.get_data_handle());
    for (size_t i = 0; i < bytes / sizeof(float); ++i) numbers[i] = float(int(i % 13) - 6) / 16 + 0.01f;
  } else {
    auto* numbers = static_cast<bf16*>(values.get_data_handle());
    for (size_t i = 0; i < bytes / sizeof(bf16); ++i) numbers[i] = bf16(float(int(i % 13) - 6) / 16 + 0.01f);
  }
  return values;
}

/// One thread's rows. One OpenMP thread each: see Note [One OpenMP thread] in products.cpp.
class RowPart {
 public:
  RowPart(int64_t rows, int64_t n, int64_t k, memory::data_type type)
      : engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {
    omp_set_num_threads(1);
    const memory::desc x({rows, k}, type, memory::format_tag::ab), y({rows, n}, type, memory::format_tag::ab);
    const memory::desc w({k, n}, type, memory::format_tag::any);
#if DNNL_VERSION_MAJOR >= 3
    const dnnl::matmul::primitive_desc description(engine_, x, w, y);
#else
    const dnnl::matmul::primitive_desc description(dnnl::matmul::desc(x, w, y), engine_);
#endif
    product_ = dnnl::matmul(description);
    memory weights(description.weights_desc(), engine_);
    memory plain = filled(memory::desc({k, n}, type, memory::format_tag::ab), type, engine_);
    dnnl::reorder(plain, weights).execute(stream_, plain, weights);
    stream_.wait();
    arguments_ = {{DNNL_ARG_SRC, filled(x, type, engine_)},
                  {DNNL_ARG_WEIGHTS, weights},
                  {DNNL_ARG_DST, memory(y, engine_)}};
  }
  void run() {
    omp_set_num_threads(1);
    product_.execute(stream_, arguments_);
    stream_.wait();
  }

 private:
  dnnl::engine engine_;
  dnnl::stream stream_;
  dnnl::matmul product_;
  std::unordered_map<int, memory> arguments_;
};

}  // namespace

double library_product_rate(const ThreadPool& pool, int64_t m, int64_t n, int64_t k, DType compute,
                            double seconds) {
  ZT_CHECK(compute == DType::kF32 || compute == DType::kBF16, "products of ", name_of(compute));
  const auto type = compute == DType::kF32 ? memory::data_type::f32 : memory::data_type::bf16;
  const int64_t threads = pool.num_threads();
  std::vector<std::unique_ptr<RowPart>> parts(static_cast<size_t>(threads));
  try {
    for (int64_t i = 0; i < threads; ++i)
      parts[size_t(i)] = std::make_unique<RowPart>(m * (i + 1) / threads - m * i / threads, n, k, type);
  } catch (const dnnl::error& error) {
    throw Error(join_message("oneDNN has no product [", m, ", ", k, "] x [", k, ", ", n, "] of ",
                             name_of(compute), ": ", error.what()));
  }
  double best = 0, spent = 0;
  for (int64_t calls = 0; calls < 3 || spent < seconds; ++calls) {
    const auto start = std::chrono::steady_clock::now();
    pool.parallel_for(threads, [&](int64_t i) { parts[size_t(i)]->run(); });
    const double took = seconds_since(start);
    spent += took;
    best = std::max(best, 2.0 * double(m) * double(n) * double(k) / took);
  }
  return best;
}

}  // namespace zoetrope
