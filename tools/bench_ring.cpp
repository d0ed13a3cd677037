// bench ring: what ring attention waits for its transfers while it computes, against the same transfers bare.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "core/clocks.h"
#include "tools/bench.h"
#include "tools/profile_step.h"
#include "tools/rank_device.h"
#include "tools/synthetic_batch.h"

namespace zoetrope {
namespace {

struct RingRow {
  int64_t block_tokens = 0;
  const char* phase = "";
  double bytes = 0;  ///< received by a rank
  double total_ms = 0, wait_ms = 0, bare_ms = 0;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// One rank's rows of one sample that lies evenly on all ranks.
class RingBench {
 public:
  RingBench(const ModelConfig& model, Rank& rank, int64_t block_tokens)
      : model_(model),
        rank_(rank),
        tokens_(block_tokens * rank.comm.size()),
        plan_(plan_of_one_ring(rank.comm.size(), tokens_)) {
    batch_ = make_synthetic_batch(plan_, 0, rank.comm.rank(), {tokens_}, model);
    for (Tensor* t : {&q_, &k_, &v_, &out_, &dout_}) *t = matrix(rank.precision.compute);
    for (Tensor* t : {&dq_, &dk_, &dv_})
      *t = Tensor::zeros({rows(), model.width}, rank.precision.wide, rank.device);
    lse_ = Tensor::zeros({rows(), model.num_heads}, rank.precision.wide, rank.device);
  }

  RingRow run(bool backward, int64_t repeats) {
    const double scale = 1 / std::sqrt(double(model_.head_width()));
    std::vector<double> total, wait, bare;
    double bytes = 0;
    for (int64_t i = 0; i <= repeats; ++i) {
      rank_.comm.barrier();
      rank_.attention.begin_wave(plan_, 0);
      rank_.attention.stats() = {};
      const int64_t start = wall_ns();
      if (backward)
        rank_.attention.backward(dq_, dk_, dv_, dout_, q_, k_, v_, out_, lse_, batch_, 0, model_.num_heads,
                                 scale);
      else rank_.attention.forward(out_, lse_, q_, k_, v_, batch_, 0, model_.num_heads, scale);
      rank_.ops->stream().synchronize();
      if (i == 0) continue;  // first touches
      bytes = rank_.attention.stats().transfer_bytes;
      total.push_back(rank_.comm.all_reduce_max(1e-6 * double(wall_ns() - start)));
      wait.push_back(rank_.comm.all_reduce_max(1e3 * rank_.attention.stats().wait_seconds));
      bare.push_back(rank_.comm.all_reduce_max(1e3 * bare_seconds(rank_.attention.stats())));
    }
    return {rows(), backward ? "backward" : "forward", bytes, median(total), median(wait), median(bare)};
  }

 private:
  int64_t rows() const { return batch_.num_tokens(); }
  Tensor matrix(DType dtype) const {
    const Tensor wide = Tensor::empty({rows(), model_.width}, DType::kF32);
    for (int64_t i = 0; i < wide.size(); ++i) wide.data<float>()[i] = float(i % 31 - 15) / 32;
    const Tensor there = to_device(wide, rank_.device);
    if (dtype == DType::kF32) return there;
    const Tensor narrow = Tensor::empty({rows(), model_.width}, dtype, rank_.device);
    rank_.ops->convert(narrow, there);
    return narrow;
  }
  /// As many exchanges of as many bytes as the ring made, with nothing computed meanwhile.
  double bare_seconds(const ExchangeStats& stats) {
    const int64_t each = int64_t(stats.transfer_bytes) / std::max<int64_t>(1, stats.exchanges);
    const Tensor out = Tensor::zeros({each}, DType::kU8, rank_.device),
                 in = Tensor::zeros({each}, DType::kU8, rank_.device);
    const int ranks = rank_.comm.size(), me = rank_.comm.rank();
    rank_.comm.barrier();
    const int64_t start = wall_ns();
    for (int64_t i = 0; i < stats.exchanges; ++i)
      rank_.comm
          .exchange({{(me + 1) % ranks, out.raw(), each, 7}}, {{(me + ranks - 1) % ranks, in.raw(), each, 7}})
          ->wait();
    rank_.ops->stream().synchronize();
    return 1e-9 * double(wall_ns() - start);
  }

  const ModelConfig& model_;
  Rank& rank_;
  int64_t tokens_;
  Plan plan_;
  MicroBatch batch_;
  Tensor q_, k_, v_, out_, dout_, dq_, dk_, dv_, lse_;
};

}  // namespace

int bench_ring(const BenchOptions& options, Comm& host) {
  if (host.size() < 2) throw UsageError("bench ring needs --ranks 2 or more");
  const std::unique_ptr<Comm> transport = start_device(options.config, host);
  Comm& comm = *transport;
  const ModelConfig& model = options.config.model;
  std::vector<int64_t> blocks{128, 256, 512, 1024};
  if (options.tokens > 0) blocks = {options.tokens};
  const Workload workload{blocks.back(), blocks.back(), 1, model.in_features()};
  Rank rank(options.config, comm, threads_per_rank(options.config.parallel, comm.size()), workload, 0,
            Cluster{comm.size(), blocks.back(), 1});
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  const bool prints = comm.rank() == 0 && !options.json;
  if (prints)
    std::printf("%-9s %8s %10s %10s %10s %10s %10s\n", "phase", "block", "MB in", "call ms", "wait ms",
                "bare ms", "wait/bare");
  for (const int64_t block : blocks) {
    RingBench bench(model, rank, block);
    for (const bool backward : {false, true}) {
      const RingRow row = bench.run(backward, options.steps);
      if (prints)
        std::printf("%-9s %8lld %10.3f %10.3f %10.3f %10.3f %9.1f%%\n", row.phase,
                    static_cast<long long>(row.block_tokens), row.bytes / 1e6, row.total_ms, row.wait_ms,
                    row.bare_ms, 100 * row.wait_ms / row.bare_ms);
      rows.push_back({{"phase", row.phase},
                      {"block_tokens", row.block_tokens},
                      {"bytes", row.bytes},
                      {"call_ms", row.total_ms},
                      {"wait_ms", row.wait_ms},
                      {"bare_ms", row.bare_ms}});
    }
  }
  if (comm.rank() == 0)
    report_json(options,
                nlohmann::ordered_json{{"bench", "ring"}, {"ranks", comm.size()}, {"rows", rows}}.dump(2));
  return 0;
}

}  // namespace zoetrope
