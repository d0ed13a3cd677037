// Memory of training a network that nobody has built yet: weights, gradients, optimizer, activations, work
// space and buffers of a rank, by precision, sharding, recompute and pipeline stages. Formulas: Note [Bytes
// of a rank] in footprint.cpp. Units: bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/config.h"
#include "schedule/memory.h"
#include "schedule/network_shape.h"

namespace zoetrope {

/// What is divided over the ranks: nothing; master weights and moments (ZeRO-1); gradients too (ZeRO-2);
/// weights too (ZeRO-3). Source: arXiv:1910.02054.
enum class Sharding { kNone, kOptimizer, kGradients, kAll };

/// How a network is to be trained.
struct TrainingShape {
  NetworkShape network;
  ModelConfig dit;  ///< the same network in full; not used by language models
  Precision precision{DType::kBF16, DType::kF32};
  Recompute recompute = Recompute::kFull;
  Sharding sharding = Sharding::kNone;
  bool ema = false;
  int64_t ranks = 1, stages = 1;  ///< ranks, or pipelines, that share what is divided
};

/// The network's tables [model]. Throws: UsageError for a language model.
ModelConfig dit_config(const NetworkShape& network);
/// The sizes that costs need, of a config; its name is "config".
NetworkShape network_shape_of(const ModelConfig& model);

/// Parameters by where pipelines hold them.
struct ParameterCounts {
  int64_t embeddings = 0, block = 0, head = 0;
  int64_t total(int64_t num_layers) const { return embeddings + num_layers * block + head; }
};
/// Counted from the network's list of parameters.
ParameterCounts parameter_counts(const TrainingShape& training);

/// Bytes of a rank in one pipeline stage, or of any rank without pipelines.
struct Footprint {
  int64_t weights = 0, gradients = 0, optimizer = 0;
  int64_t buffers = 0, buffers_per_cap_token = 0;  ///< gathered and reduced units; ring areas, next batch
  int64_t workspace = 0;
  MemoryModel activations;  ///< their figures alone
  /// All of it.
  MemoryModel memory() const;
};
/// One per stage, the first first.
std::vector<Footprint> footprints_of(const TrainingShape& training);

/// A part of a rank's memory.
struct MemoryPart {
  const char* name;
  int64_t bytes = 0;
};
/// Weights, gradients, optimizer, activations, work space, buffers: they add up to `peak`, of a rank at a
/// token cap of `cap_tokens`.
std::vector<MemoryPart> memory_parts(const Footprint& footprint, int64_t cap_tokens, int64_t peak);
/// A line per part with its bytes, for a rank of `peak` bytes at a token cap of `cap_tokens`.
std::string footprint_table(const Footprint& footprint, int64_t cap_tokens, int64_t peak, int64_t limit);

}  // namespace zoetrope
