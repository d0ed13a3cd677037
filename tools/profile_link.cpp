// What the ranks of a cost set need of each other: links, the gradient sum; the optimizer; and the rate of
// attention.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "core/clocks.h"
#include "tools/median.h"
#include "tools/profile_step.h"
#include "tools/rank_device.h"

namespace zoetrope {
namespace {

/// Of transfers: a neighbour on the core makes them longer by whole time slices, and nothing makes them
/// shorter.
double least(const std::vector<double>& values) { return *std::min_element(values.begin(), values.end()); }

constexpr int64_t kSmallMessage = 64, kLargeMessage = int64_t(4) << 20;
constexpr int kLinkRepeats = 41;

double exchange_seconds(Comm& comm, Device device, int to, int from, int64_t bytes) {
  const Tensor out = Tensor::zeros({bytes}, DType::kU8, device),
               in = Tensor::zeros({bytes}, DType::kU8, device);
  const Stream stream(device);
  stream.synchronize();
  const int64_t start = wall_ns();
  comm.exchange({{to, out.raw(), bytes, 1}}, {{from, in.raw(), bytes, 1}})->wait();
  stream.synchronize();
  return 1e-9 * double(wall_ns() - start);
}

LinkRate link_rate(double small_seconds, double large_seconds) {
  const double bytes = double(kLargeMessage - kSmallMessage);
  // On a busy machine the small message may take as long as the large one: then the rate is at least this.
  return {bytes / (large_seconds > small_seconds ? large_seconds - small_seconds : large_seconds),
          small_seconds};
}

}  // namespace

double mean_over_ranks(Comm& comm, double value) {
  const std::vector<std::byte> all = comm.all_gather(&value, sizeof value);
  double sum = 0;
  for (int rank = 0; rank < comm.size(); ++rank) {
    double each;
    std::memcpy(&each, all.data() + size_t(rank) * sizeof each, sizeof each);
    sum += each;
  }
  return sum / comm.size();
}

LinkRate measure_link(Comm& comm, Device device) {
  ZT_CHECK(comm.size() > 1, "a link needs two ranks");
  const int to = (comm.rank() + 1) % comm.size(), from = (comm.rank() + comm.size() - 1) % comm.size();
  const auto seconds_for = [&](int64_t bytes) {
    std::vector<double> times;
    for (int i = 0; i < kLinkRepeats; ++i) {
      comm.barrier();
      times.push_back(comm.all_reduce_max(exchange_seconds(comm, device, to, from, bytes)));
    }
    return least(times);
  };
  return link_rate(seconds_for(kSmallMessage), seconds_for(kLargeMessage));
}

LinkRate measure_pair_link(Comm& comm, Device device) {
  ZT_CHECK(comm.size() > 1, "a link needs two ranks");
  std::array<double, 2> seconds{};
  if (comm.rank() < 2) {
    const int other = 1 - comm.rank();
    for (size_t size = 0; size < 2; ++size) {
      std::vector<double> times;
      for (int i = 0; i < kLinkRepeats; ++i)
        times.push_back(
            exchange_seconds(comm, device, other, other, size == 0 ? kSmallMessage : kLargeMessage));
      seconds[size] = least(times);
    }
  } else {
    usleep(500'000);  // no competition for the cores; the two take about a tenth of this
  }
  comm.broadcast(seconds.data(), int64_t(sizeof seconds), 0);
  return link_rate(seconds[0], seconds[1]);
}

double exchange_bytes_per_token(const ModelConfig& model, Precision precision) {
  const double compute = double(size_of(precision.compute)), wide = double(size_of(precision.wide));
  // K, V in forward and again in backward, dK and dV back to their owner.
  return double(model.num_layers) * double(model.width) * (2 * compute + 2 * compute + 2 * wide);
}

double exchanges_per_step(const ModelConfig& model) { return 3 * double(model.num_layers); }

double measure_all_reduce(const Rank& rank) {
  if (rank.comm.size() == 1) return 0;
  std::vector<double> times;
  for (int i = 0; i < 7; ++i) {
    rank.comm.barrier();
    const int64_t start = wall_ns();
    rank.comm.all_reduce_sum(rank.parameters.grads());
    rank.ops->stream().synchronize();
    times.push_back(rank.comm.all_reduce_max(1e-9 * double(wall_ns() - start)));
  }
  rank.parameters.zero_grads();
  return least(times);
}

double measure_optimizer(Rank& rank) {
  const ClockNs clock = clock_of(rank.device, rank.pool.num_threads());  // ranks may share cores
  std::vector<double> times;
  for (int i = 0; i < 7; ++i) {
    rank.comm.barrier();
    const int64_t start = clock();
    rank.parameters.zero_grads();
    rank.optimizer.step(0, rank.optimizer.grad_norm());
    rank.ops->stream().synchronize();
    times.push_back(double(clock() - start));
  }
  return mean_over_ranks(rank.comm, median(times));
}

double measure_attention(const Rank& rank, const ModelConfig& model, int64_t tokens, double seconds) {
  const auto matrix = [&] {
    const Tensor wide = Tensor::empty({tokens, model.width}, DType::kF32);
    for (int64_t i = 0; i < wide.size(); ++i) wide.data<float>()[i] = float(i % 29 - 14) / 16;
    const Tensor there = to_device(wide, rank.device);
    if (rank.precision.compute == DType::kF32) return there;
    const Tensor narrow = Tensor::empty({tokens, model.width}, rank.precision.compute, rank.device);
    rank.ops->convert(narrow, there);
    return narrow;
  };
  const Tensor q = matrix(), k = matrix(), v = matrix(), out = matrix();
  const Tensor lse = Tensor::empty({tokens, model.num_heads}, rank.precision.wide, rank.device);
  const AttentionItem item{0, tokens, 0, tokens};
  const double flops = 4.0 * double(tokens) * double(tokens) * double(model.width);
  const ClockNs clock = clock_of(rank.device, rank.pool.num_threads());  // ranks may share cores
  double best = 0, spent = 0;
  for (int64_t calls = 0; calls < 3 || spent < seconds; ++calls) {
    const int64_t start = clock();
    rank.ops->attention(out, lse, q, k, v, {&item, 1}, model.num_heads,
                        1 / std::sqrt(double(model.head_width())), false);
    rank.ops->stream().synchronize();
    const double took = 1e-9 * double(clock() - start);
    spent += took;
    best = std::max(best, flops / took);
  }
  return best;
}

}  // namespace zoetrope
