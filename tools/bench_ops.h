// `zoetrope bench ops`: time of every operator at the sizes of one transformer, against the rate of its
// products.
#pragma once

#include <cstdint>
#include <string>

namespace zoetrope {

struct OpsBench {
  int64_t threads = 2, tokens = 4096, sample_tokens = 2048;
  int64_t width = 768, heads = 12, ffn = 3072, layers = 12, text_rows = 128, features = 768;
  std::string device = "cpu", precision = "f32";
  bool json = false;
};

/// Prints the table on stdout, unless `json` is set; returns its rows as JSON.
std::string run_bench_ops(const OpsBench& bench);

}  // namespace zoetrope
