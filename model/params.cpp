#include "model/params.h"

#include <algorithm>
#include <cmath>

#include "core/files.h"
#include "core/rng.h"
#include "model/ops/workspace.h"

namespace zoetrope {
namespace {

/// Collects parameters unit by unit; offsets follow the order of the calls.
class Lister {
 public:
  explicit Lister(Unit unit, std::vector<Parameter>& list) : unit_(unit), list_(list) {}
  void matrix(const std::string& name, std::vector<int64_t> shape) {
    add(name + ".weight", std::move(shape), true);
  }
  void vector(const std::string& name, int64_t size) { add(name, {size}, false); }
  void modulation(const std::string& name, int64_t rows, int64_t width) {
    add(name, {1, rows, width}, false);
  }

 private:
  void add(const std::string& name, std::vector<int64_t> shape, bool is_matrix) {
    const int64_t offset = list_.empty() ? 0 : list_.back().offset + list_.back().size;
    int64_t size = 1;
    for (int64_t extent : shape) size *= extent;
    list_.push_back({name, std::move(shape), offset, size, unit_, is_matrix});
  }

  Unit unit_;
  std::vector<Parameter>& list_;
};

// Within a unit the matrices come first, so that weight decay covers one range; q, k, v are neighbours.
void list_block(Lister lister, const std::string& block, const ModelConfig& config) {
  const int64_t D = config.width, F = config.ffn;
  const std::string self = block + "self_attn.", cross = block + "cross_attn.", ffn = block + "ffn.";
  for (const std::string& attention : {self, cross})
    for (const char* part : {"q", "k", "v", "o"}) lister.matrix(attention + part, {D, D});
  lister.matrix(ffn + "0", {F, D});
  lister.matrix(ffn + "2", {D, F});
  for (const std::string& attention : {self, cross}) {
    for (const char* part : {"q", "k", "v", "o"}) lister.vector(attention + part + ".bias", D);
    for (const char* part : {"norm_q.weight", "norm_k.weight"}) lister.vector(attention + part, D);
  }
  lister.vector(ffn + "0.bias", F);
  lister.vector(ffn + "2.bias", D);
  for (const char* part : {"norm3.weight", "norm3.bias"}) lister.vector(block + part, D);
  lister.modulation(block + "modulation", 6, D);
}

const Parameter& find_in(const std::vector<Parameter>& list, const std::string& name) {
  for (const Parameter& p : list)
    if (p.name == name) return p;
  throw Error("no parameter '" + name + "' in this model");
}

/// Neighbours [first, last] under one name.
Parameter join(const std::vector<Parameter>& list, const std::string& name, const std::string& first,
               const std::string& last) {
  Parameter joined = find_in(list, first);
  const Parameter& end = find_in(list, last);
  const int64_t row_size = joined.size / joined.shape[0];
  joined.name = name;
  joined.size = end.offset + end.size - joined.offset;
  joined.shape[0] = joined.size / row_size;
  return joined;
}

/// The neighbours that run as one product.
std::vector<Parameter> fuse(const std::vector<Parameter>& list, const ModelConfig& config) {
  std::vector<Parameter> fused;
  for (int64_t b = 0; b < config.num_layers; ++b) {
    const std::string block = "blocks." + std::to_string(b) + ".", self = block + "self_attn.",
                      cross = block + "cross_attn.";
    for (const char* part : {".weight", ".bias"}) {
      fused.push_back(join(list, self + "qkv" + part, self + "q" + part, self + "v" + part));
      fused.push_back(join(list, cross + "kv" + part, cross + "k" + part, cross + "v" + part));
    }
  }
  return fused;
}

/// The matrices that products run with: the fused ones, and those that are no part of one.
std::vector<Parameter> product_matrices(const std::vector<Parameter>& list,
                                        const std::vector<Parameter>& fused) {
  std::vector<Parameter> matrices;
  std::vector<std::pair<int64_t, int64_t>> covered;
  for (const Parameter& group : fused) {
    if (!group.decay) continue;
    matrices.push_back(group);
    covered.push_back({group.offset, group.offset + group.size});
  }
  for (const Parameter& p : list) {
    const auto holds = [&](const auto& range) { return range.first <= p.offset && p.offset < range.second; };
    if (p.decay && std::none_of(covered.begin(), covered.end(), holds)) matrices.push_back(p);
  }
  return matrices;
}

/// Type of the products with a matrix: the timestep path stays wide, so that t is never rounded to bf16.
DType product_type(const Parameter& parameter, Precision precision) {
  return parameter.unit.kind == Unit::kTimeEmbedding ? precision.wide : precision.compute;
}

/// Host memory.
void store(const Tensor& flat, int64_t index, double value) {
  if (flat.dtype() == DType::kF64) flat.data<double>()[index] = value;
  else flat.data<float>()[index] = float(value);
}

/// Standard deviation of normal initial values, or the half-width of uniform ones (Xavier); one is zero.
struct Spread {
  double normal = 0, uniform = 0, offset = 0;
};
Spread spread_of(const Parameter& parameter, const ModelConfig& config) {
  const std::string& name = parameter.name;
  if (name.ends_with("modulation")) return {.normal = 1 / std::sqrt(double(config.width))};
  if (!parameter.decay) return {.offset = name.ends_with(".weight") ? 1.0 : 0.0};  // norms 1, biases 0
  // The head starts small instead of at zero, so that a first step already tests every gradient.
  if (parameter.unit.kind == Unit::kTextEmbedding || parameter.unit.kind == Unit::kHead ||
      name.starts_with("time_embedding"))
    return {.normal = 0.02};
  const double rows = double(parameter.shape[0]), columns = double(parameter.size) / rows;
  return {.uniform = std::sqrt(6 / (rows + columns))};
}

}  // namespace

std::vector<Parameter> list_parameters(const ModelConfig& config) {
  config.validate();
  const int64_t D = config.width;
  std::vector<Parameter> list;
  Lister patch({Unit::kPatchEmbedding, 0}, list);
  patch.matrix("patch_embedding", {D, config.in_channels, config.patch[0], config.patch[1], config.patch[2]});
  patch.vector("patch_embedding.bias", D);
  Lister time({Unit::kTimeEmbedding, 0}, list);
  time.matrix("time_embedding.0", {D, config.frequency_width});
  time.matrix("time_embedding.2", {D, D});
  time.matrix("time_projection.1", {6 * D, D});
  time.vector("time_embedding.0.bias", D);
  time.vector("time_embedding.2.bias", D);
  time.vector("time_projection.1.bias", 6 * D);
  Lister text({Unit::kTextEmbedding, 0}, list);
  text.matrix("text_embedding.0", {D, config.text_width});
  text.matrix("text_embedding.2", {D, D});
  text.vector("text_embedding.0.bias", D);
  text.vector("text_embedding.2.bias", D);
  for (int64_t b = 0; b < config.num_layers; ++b)
    list_block(Lister({Unit::kBlock, b}, list), "blocks." + std::to_string(b) + ".", config);
  Lister head({Unit::kHead, 0}, list);
  head.matrix("head.head", {config.out_features(), D});
  head.vector("head.head.bias", config.out_features());
  head.modulation("head.modulation", 2, D);
  return list;
}

Parameters::Parameters(const ModelConfig& config, Precision precision, const Ops& ops)
    : ops_(ops), precision_(precision), config_(config), list_(list_parameters(config)) {
  for (size_t i = 0; i < list_.size(); ++i) {
    const Parameter& p = list_[i];
    index_[p.name] = i;
    const bool same =
        !units_.empty() && units_.back().unit.kind == p.unit.kind && units_.back().unit.block == p.unit.block;
    if (!same) units_.push_back({p.unit, p.offset, p.offset});
    units_.back().end = count_ = p.offset + p.size;
  }
  values_ = Tensor::zeros({count_}, precision.wide, ops.device());
  grads_ = Tensor::zeros({count_}, precision.wide, ops.device());
  fused_ = fuse(list_, config);
  for (const Parameter& p : product_matrices(list_, fused_)) {
    Product product;
    product.compute = product_type(p, precision_);
    product.weight.value = view(values_, p);
    ops_.reserve_prepared(product.weight, product.compute);
    products_[p.name.substr(0, p.name.size() - std::string(".weight").size())] = product;
  }
}

const Parameter& Parameters::find(const std::string& name) const {
  if (const auto at = index_.find(name); at != index_.end()) return list_[at->second];
  return find_in(fused_, name);
}

Tensor Parameters::view(const Tensor& flat, const Parameter& p) const {
  const Tensor range = flat.slice_rows(p.offset, p.offset + p.size);
  if (p.shape.size() == 1) return range;
  if (!p.decay) return range.reshape({p.shape[1], p.shape[2]});  // modulation (1, rows, D)
  return range.reshape({p.shape[0], p.size / p.shape[0]});
}

Tensor Parameters::value(const std::string& name) const { return view(values_, find(name)); }
Tensor Parameters::grad(const std::string& name) const { return view(grads_, find(name)); }

void Parameters::initialise(uint64_t seed) {
  for (const Parameter& p : list_) {
    const Spread spread = spread_of(p, config_);
    const int64_t rows = p.decay ? p.shape[0] : 1, columns = p.size / rows;
    std::vector<float> row(static_cast<size_t>(columns));
    const Tensor flat = values_.slice_rows(p.offset, p.offset + p.size), values = host_twin(flat);
    for (int64_t r = 0; r < rows; ++r) {
      const RandomKey key{seed, Purpose::kInitialisation, int64_t(fnv1a(p.name)), r};
      if (spread.normal > 0) fill_normal(key, row.data(), columns);
      for (int64_t c = 0; c < columns; ++c) {
        double value = spread.offset;
        if (spread.normal > 0) value += spread.normal * double(row[size_t(c)]);
        if (spread.uniform > 0) value += spread.uniform * (2 * double(uniform(key, c)) - 1);
        store(values, r * columns + c, value);
      }
    }
    from_host(flat, values);
  }
  prepare();
}

const Weight& Parameters::weight(const std::string& name) const {
  const auto at = products_.find(name);
  ZT_CHECK(at != products_.end(), "no product weight '", name, "' in this model");
  return at->second.weight;
}

void Parameters::prepare() const {
  for (const auto& [name, product] : products_) ops_.prepare(product.weight, product.compute);
}

int64_t Parameters::persistent_bytes() const {
  int64_t bytes = values_.bytes() + grads_.bytes();
  for (const auto& [name, product] : products_)
    bytes +=
        ops_.prepared_bytes(product.weight.value.rows(), product.weight.value.row_size(), product.compute);
  return bytes;
}

int64_t parameter_bytes(const ModelConfig& config, Precision precision, Device device) {
  const std::vector<Parameter> list = list_parameters(config);
  int64_t bytes = 2 * (list.back().offset + list.back().size) * int64_t(size_of(precision.wide));
  for (const Parameter& p : product_matrices(list, fuse(list, config)))
    bytes += ops_prepared_bytes(device, p.shape[0], p.size / p.shape[0], product_type(p, precision));
  return bytes;
}

}  // namespace zoetrope
