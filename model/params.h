// Parameters of the network: Wan's names and shapes, values and gradients in two flat buffers in unit order,
// so that a unit is one contiguous range.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/tensor.h"
#include "model/config.h"
#include "model/ops/ops.h"
#include "model/parallel_hooks.h"

namespace zoetrope {

struct Parameter {
  std::string name;              ///< Wan's original key, e.g. "blocks.0.self_attn.q.weight"
  std::vector<int64_t> shape;    ///< as stored in files
  int64_t offset = 0, size = 0;  ///< elements in the flat buffers
  Unit unit;
  bool decay = false;  ///< a matrix of products: weight decay applies (not to norms, biases, modulation)
};

/// A contiguous range [begin, end) of the flat buffers that belongs to one unit.
struct UnitRange {
  Unit unit;
  int64_t begin = 0, end = 0;
};

/// Names, shapes, flat storage. Within a unit matrices come first; q, k, v of an attention lie next to each
/// other (weights, then biases), so that they run as one product.
class Parameters {
 public:
  Parameters(const ModelConfig& config, Precision precision, const Ops& ops);

  const std::vector<Parameter>& list() const { return list_; }
  const std::vector<UnitRange>& units() const { return units_; }  ///< forward order
  int64_t count() const { return count_; }

  const Tensor& values() const { return values_; }  ///< flat [count] wide
  const Tensor& grads() const { return grads_; }    ///< flat [count] wide
  /// View of one parameter, or of neighbours as one ("blocks.0.self_attn.qkv.bias"): matrices as [out, in],
  /// modulation as [rows, D], else [size]. Throws: Error when there is no such name.
  Tensor value(const std::string& name) const;
  Tensor grad(const std::string& name) const;

  /// Seeded initialisation: a function of (seed, name, element) alone.
  void initialise(uint64_t seed);
  /// The product form of a matrix, or of neighbours as one: "head.head", "blocks.0.self_attn.qkv",
  /// "blocks.0.cross_attn.kv"; q, k, v that are part of one have no form of their own.
  const Weight& weight(const std::string& name) const;
  /// Renews every prepared weight after the values changed.
  void prepare() const;
  void zero_grads() const { ops_.zero(grads_); }

  /// Persistent bytes: values, gradients, prepared forms.
  int64_t persistent_bytes() const;

 private:
  /// A matrix, or neighbours as one, and the type its products run in.
  struct Product {
    Weight weight;
    DType compute = DType::kF32;
  };
  /// The entry of a name, and its view of a flat buffer.
  const Parameter& find(const std::string& name) const;
  Tensor view(const Tensor& flat, const Parameter& p) const;

  const Ops& ops_;
  Precision precision_;
  ModelConfig config_;
  std::vector<Parameter> list_;
  std::vector<Parameter> fused_;  // neighbours as one: "blocks.0.self_attn.qkv.weight", "....bias"
  std::vector<UnitRange> units_;
  std::map<std::string, size_t> index_;
  std::map<std::string, Product> products_;
  int64_t count_ = 0;
  Tensor values_, grads_;
};

/// Names, shapes and offsets without storage (for counting and for checkpoints).
std::vector<Parameter> list_parameters(const ModelConfig& config);
/// `Parameters::persistent_bytes` without building them.
int64_t parameter_bytes(const ModelConfig& config, Precision precision, Device device);

}  // namespace zoetrope
