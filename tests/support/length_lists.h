// Lists of sample lengths for planner tests: the files of tests/data/traces, and random ones.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace zoetrope {

/// A list of tests/data/traces with the ranks, cap and CP size of its known figures.
struct LengthList {
  std::string name;
  int64_t num_slots = 0, tokens_per_slot = 0, static_cp = 0;
};
/// All lists.
const std::vector<LengthList>& length_lists();
/// Tokens per sample of a list.
std::vector<int64_t> read_length_list(const std::string& name);

/// A random planning problem: odd caps, lengths that all fit.
struct RandomProblem {
  std::vector<int64_t> lengths;
  int64_t num_slots = 1, tokens_per_slot = 1, segments_per_slot = 0;
};
/// Draws one of 1 to `most_slots` slots and up to `most_samples` samples.
RandomProblem random_problem(std::mt19937_64& random, int64_t most_slots = 16, int64_t most_samples = 40);

}  // namespace zoetrope
