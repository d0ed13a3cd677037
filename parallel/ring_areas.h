// The fixed areas of ring attention: own K, V packed for sending, two blocks of mates, dK, dV on their way.
#pragma once

#include <array>

#include "core/tensor.h"
#include "model/config.h"

namespace zoetrope {

/// K and V (or dK and dV) of one block of tokens, next to each other so that they travel as one message.
struct KeyValueArea {
  Tensor rows;  ///< [2 max_tokens, D]

  Tensor keys(int64_t tokens) const { return rows.slice_rows(0, tokens); }
  Tensor values(int64_t tokens) const { return rows.slice_rows(tokens, 2 * tokens); }
  /// Of the message.
  int64_t bytes(int64_t tokens) const {
    return 2 * tokens * rows.row_size() * int64_t(size_of(rows.dtype()));
  }
  void* data() const { return rows.raw(); }
};

/// All areas of a rank; allocated once.
struct RingAreas {
  /// `max_tokens`: largest block of a split sample.
  RingAreas(const ModelConfig& config, Precision precision, int64_t max_tokens, Device device);
  /// Bytes that they take.
  static int64_t bytes(const ModelConfig& config, Precision precision, int64_t max_tokens);

  int64_t max_tokens = 0;
  KeyValueArea own;                       ///< compute type
  std::array<KeyValueArea, 2> mates;      ///< compute type: one being computed, one arriving
  std::array<KeyValueArea, 2> gradients;  ///< wide: one being computed, one on its way to its owner
  KeyValueArea returned;                  ///< wide: gradients of own K, V from a mate
  /// Wide accumulator of forward for compute types that are narrower; shares memory with `gradients`, which
  /// backward alone uses.
  Tensor accumulator(int64_t tokens) const { return gradients[0].keys(tokens); }
};

}  // namespace zoetrope
