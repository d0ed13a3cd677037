// Does it pay to choose ring sizes per sample? An answer in words, from figures of plans alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace zoetrope {

/// A planner that ours is held against, at its fastest size.
struct VerdictRival {
  std::string planner;
  int64_t cp = 0;        ///< of the static planners; 0: its own choice
  int64_t total_ns = 0;  ///< of all steps; 0: it has no plan for some step
  int64_t simulated_ns = 0;
};

/// Both planned again for a changed problem.
struct VerdictTrial {
  std::string change;       ///< "links 4 times slower"
  int64_t ours_ns = 0;      ///< 0: no plan
  int64_t balanced_ns = 0;  ///< of the best balanced static plan; 0: there is none
};

/// What a verdict rests on. Times are sums over the steps, in ns of the cost set; what is said of lengths
/// and of balanced static plans holds for the first step.
struct VerdictFigures {
  std::string ours = "elastic";
  int64_t ours_ns = 0, bound_ns = 0;
  VerdictRival balanced{"static-balanced"};
  std::vector<VerdictRival> others;
  int64_t num_steps = 1;
  int64_t num_samples = 0, num_ranks = 0, tokens_per_rank = 0;
  int64_t total_tokens = 0, shortest = 0, longest = 0;
  int64_t num_above_cap = 0, tokens_above_cap = 0;   ///< samples that fit no rank whole
  int64_t longest_alone_ns = 0, first_bound_ns = 0;  ///< bounds of a step of the longest sample, of the step
  int64_t first_ours_ns = 0, first_balanced_ns = 0;
  int64_t simulated_ours_ns = 0,
          simulated_balanced_ns = 0;   ///< of all steps, layer by layer; 0: not simulated
  int64_t balanced_free_links_ns = 0;  ///< the balanced plan if transfers took no time; 0: not computed
  int64_t least_static_cp = 1;         ///< smallest size that holds the longest sample
  int64_t balanced_waves = 0, least_waves = 0;  ///< micro-batches it has, and the fewest that the cap allows
  double ours_moved = 0, balanced_moved = 0;    ///< tokens sent per token
  std::vector<VerdictTrial> trials;
  std::string untried;  ///< why there are no trials; empty: nothing to say
};

/// The answer.
struct Verdict {
  bool pays = false;
  double gain = 0;  ///< over the best balanced static plan: its time / ours - 1
  std::string headline, rivals;
  std::vector<std::string> reasons, changes;
};

/// Gains below this are called nothing: cost sets and links are not known better.
constexpr double kLeastGain = 0.03;

/// Pure: says only what follows from the figures.
Verdict verdict_of(const VerdictFigures& figures);
/// For people, wrapped to 100 columns.
std::string verdict_text(const Verdict& verdict);

}  // namespace zoetrope
