#include "tests/support/length_lists.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "core/files.h"

namespace zoetrope {

const std::vector<LengthList>& length_lists() {
  static const std::vector<LengthList> lists{{"video-mix-n512-g64", 64, 16384, 8},
                                             {"video-mix-n128-g16", 16, 16384, 8},
                                             {"lognormal-1024-1.5-n256-g64", 64, 2048, 4},
                                             {"lognormal-2048-1.6-n2048-g64", 64, 65536, 8},
                                             {"lognormal-16384-1.1-n512-g32", 32, 16384, 8},
                                             {"pipeline-lognormal-4096-1.3-n512", 16, 16384, 8},
                                             {"pipeline-lognormal-8192-1.4-n256", 16, 16384, 8},
                                             {"pipeline-lognormal-8192-1.4-n2048", 16, 65536, 8}};
  return lists;
}

std::vector<int64_t> read_length_list(const std::string& name) {
  std::istringstream in(read_file(std::string(ZT_SOURCE_DIR) + "/tests/data/traces/" + name + ".csv"));
  std::string line;
  std::getline(in, line);
  std::vector<int64_t> lengths;
  while (std::getline(in, line)) lengths.push_back(std::stoll(line));
  return lengths;
}

RandomProblem random_problem(std::mt19937_64& random, int64_t most_slots, int64_t most_samples) {
  const auto pick = [&](int64_t low, int64_t high) {
    return low + int64_t(random() % uint64_t(high - low + 1));
  };
  RandomProblem problem;
  problem.num_slots = pick(1, most_slots);
  problem.tokens_per_slot = pick(1, 4) == 1 ? pick(1, 60) : pick(61, 3001);
  problem.segments_per_slot = pick(0, 2) == 0 ? pick(1, 5) : 0;
  const int64_t most = problem.num_slots * problem.tokens_per_slot, shape = pick(0, 2);
  for (int64_t n = pick(0, most_samples); n > 0; --n) {
    const double uniform = double(random() >> 11) * 0x1p-53;
    int64_t tokens = 1 + int64_t(uniform * double(problem.tokens_per_slot));
    if (shape == 1) tokens = 1 + int64_t(std::pow(uniform, 6) * double(most));
    if (shape == 2 && pick(0, 7) == 0) tokens = pick(1, most);
    problem.lengths.push_back(std::clamp<int64_t>(tokens, 1, most));
  }
  return problem;
}

}  // namespace zoetrope
