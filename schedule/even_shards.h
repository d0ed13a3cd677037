// Samples in even shards on neighbouring slots: what the planners without uneven shards stand on.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/plan.h"

namespace zoetrope {

/// Sample numbers by descending length, ties by number.
std::vector<int64_t> by_descending_length(const std::vector<int64_t>& lengths);

/// Tokens that member `member` of an even split over `cp` slots holds; the first members hold one more.
inline int64_t even_tokens(int64_t tokens, int64_t cp, int64_t member) {
  return tokens / cp + (member < tokens % cp ? 1 : 0);
}

/// Adds the sample's even shards to `cp` slots from `first_slot` on; shards without tokens are left out.
void put_even(Wave& wave, int64_t first_slot, int64_t cp, int64_t sample, int64_t tokens);

/// Appends a wave of `num_slots` empty slots.
Wave& open_wave(Plan& plan, int64_t num_slots);

}  // namespace zoetrope
