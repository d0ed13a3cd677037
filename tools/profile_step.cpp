#include "tools/profile_step.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "core/clocks.h"
#include "tools/synthetic_batch.h"

namespace zoetrope {
namespace {

constexpr int64_t kLargestBatch = 4096, kMostSegments = 8;

/// Of transfers: a neighbour on the core makes them longer by whole time slices, and nothing makes them
/// shorter.
double least(const std::vector<double>& values) { return *std::min_element(values.begin(), values.end()); }

struct Candidate {
  std::string what;
  Plan plan;
  std::vector<int64_t> lengths;  ///< of all samples of the plan
  int64_t tokens = 0;            ///< of a rank
  StepSample size;
};

Candidate whole_samples(int ranks, std::vector<int64_t> lengths) {
  Candidate c;
  c.what = lengths.size() == 1 ? join_message(lengths[0], " tokens")
                               : join_message(lengths.size(), " x ", lengths[0], " tokens");
  c.plan = plan_of_equal_slots(ranks, lengths);
  for (int rank = 0; rank < ranks; ++rank) c.lengths.insert(c.lengths.end(), lengths.begin(), lengths.end());
  for (const int64_t length : lengths) {
    c.tokens += length;
    c.size.pairs += double(length) * double(length);
  }
  c.size.tokens = double(c.tokens);
  c.size.segments = double(lengths.size());
  return c;
}

Candidate ring_of_all(int ranks, int64_t tokens_per_rank) {
  Candidate c;
  const int64_t tokens = tokens_per_rank * ranks;
  c.what = join_message(tokens, " tokens over ", ranks, " ranks");
  c.plan = plan_of_one_ring(ranks, tokens);
  c.lengths = {tokens};
  c.tokens = tokens_per_rank;
  c.size = {double(tokens_per_rank),
            double(tokens_per_rank) * double(tokens),
            1,
            double(tokens - tokens_per_rank),
            1,
            0};
  return c;
}

/// The most telling first, since time may not last for all: lengths far apart, packs and rings early. As far
/// as the rank's caps go.
std::vector<Candidate> candidates_for(const Rank& rank) {
  const int ranks = rank.comm.size();
  std::vector<Candidate> list;
  const auto whole = [&](size_t count, int64_t tokens) {
    list.push_back(whole_samples(ranks, std::vector<int64_t>(count, tokens)));
  };
  const auto ring = [&](int64_t tokens_per_rank) {
    if (ranks > 1) list.push_back(ring_of_all(ranks, tokens_per_rank));
  };
  whole(1, 64), whole(1, 256), whole(4, 64), whole(1, 1024), ring(512);
  whole(8, 32), whole(1, 512), whole(1, 2048), ring(64), whole(4, 256);
  whole(1, 32), whole(1, 128), ring(256), whole(4, 16), whole(4, 128), ring(1024), whole(1, 4096);
  std::erase_if(list, [&](const Candidate& c) {
    return c.tokens > rank.cluster.tokens_per_slot ||
           int64_t(c.size.segments) > rank.cluster.segments_per_slot;
  });
  return list;
}

/// Steadier than the least, and not moved by a neighbour that slows some of the runs.
double lower_quartile(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[(values.size() - 1) / 4];
}

/// Compute nanoseconds of this rank for one forward and backward.
double run_once(Rank& rank, const Candidate& c, const MicroBatch& batch, const ModelConfig& model,
                ReplayRecorder& recorder) {
  rank.comm.barrier();
  rank.attention.begin_wave(c.plan, 0);
  rank.sync.begin_wave(false, false);
  recorder.begin();
  rank.flow.loss_and_gradients(batch, loss_count(c.tokens, model));
  recorder.end();
  int64_t ns = 0;
  for (const ReplayEvent& event : recorder.trace())
    if (event.kind == ReplayEvent::kCompute) ns += event.value;
  return double(ns);
}

constexpr int64_t kSmallMessage = 64, kLargeMessage = int64_t(4) << 20;
constexpr int kLinkRepeats = 41;

double exchange_seconds(Comm& comm, int to, int from, int64_t bytes) {
  const std::vector<std::byte> out(size_t(bytes), std::byte(1));
  std::vector<std::byte> in(size_t(bytes), std::byte(0));
  const int64_t start = wall_ns();
  comm.exchange({{to, out.data(), bytes, 1}}, {{from, in.data(), bytes, 1}})->wait();
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

Workload profile_workload(const ModelConfig& model) {
  return {1, kLargestBatch, kMostSegments, model.in_features()};
}

std::vector<MeasuredStep> measure_steps(Rank& rank, const ModelConfig& model, ReplayRecorder& recorder,
                                        double seconds, const ProfileProgress& progress) {
  std::vector<MeasuredStep> measured;
  const int64_t start = wall_ns();
  double ns_per_token = 0;
  for (Candidate& c : candidates_for(rank)) {
    const double spent = rank.comm.all_reduce_max(double(wall_ns() - start));
    const double left = 1e9 * seconds - spent, guess = 1.3 * ns_per_token * double(c.tokens);
    if (2 * guess > left) {
      progress(join_message(c.what, ": would take too long, left out"));
      continue;
    }
    const MicroBatch batch = make_synthetic_batch(c.plan, 0, rank.comm.rank(), c.lengths, model);
    run_once(rank, c, batch, model, recorder);  // compiles the kernels of new shapes
    std::vector<double> times;
    double spent_here = 0;
    const int64_t begin = wall_ns();
    do {
      times.push_back(mean_over_ranks(rank.comm, run_once(rank, c, batch, model, recorder)));
      spent_here = rank.comm.all_reduce_max(double(wall_ns() - begin));
    } while (times.size() < 9 &&
             spent_here * double(times.size() + 1) / double(times.size()) < 1e9 * seconds / 15);
    c.size.ns = lower_quartile(times);
    ns_per_token = std::max(spent_here / double(times.size()) / double(c.tokens), ns_per_token * 0.5);
    measured.push_back({c.what, c.size});
    progress(join_message(c.what, ": ", std::round(c.size.ns / 1e4) / 100, " ms, lower quartile of ",
                          times.size()));
  }
  rank.parameters.zero_grads();
  return measured;
}

LinkRate measure_link(Comm& comm) {
  ZT_CHECK(comm.size() > 1, "a link needs two ranks");
  const int to = (comm.rank() + 1) % comm.size(), from = (comm.rank() + comm.size() - 1) % comm.size();
  const auto seconds_for = [&](int64_t bytes) {
    std::vector<double> times;
    for (int i = 0; i < kLinkRepeats; ++i) {
      comm.barrier();
      times.push_back(comm.all_reduce_max(exchange_seconds(comm, to, from, bytes)));
    }
    return least(times);
  };
  return link_rate(seconds_for(kSmallMessage), seconds_for(kLargeMessage));
}

LinkRate measure_pair_link(Comm& comm) {
  ZT_CHECK(comm.size() > 1, "a link needs two ranks");
  std::array<double, 2> seconds{};
  if (comm.rank() < 2) {
    const int other = 1 - comm.rank();
    for (size_t size = 0; size < 2; ++size) {
      std::vector<double> times;
      for (int i = 0; i < kLinkRepeats; ++i)
        times.push_back(exchange_seconds(comm, other, other, size == 0 ? kSmallMessage : kLargeMessage));
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
    times.push_back(rank.comm.all_reduce_max(1e-9 * double(wall_ns() - start)));
  }
  rank.parameters.zero_grads();
  return least(times);
}

double measure_attention(const Rank& rank, const ModelConfig& model, int64_t tokens, double seconds) {
  const auto matrix = [&] {
    const Tensor wide = Tensor::empty({tokens, model.width}, DType::kF32);
    for (int64_t i = 0; i < wide.size(); ++i) wide.data<float>()[i] = float(i % 29 - 14) / 16;
    if (rank.precision.compute == DType::kF32) return wide;
    const Tensor narrow = Tensor::empty({tokens, model.width}, rank.precision.compute);
    rank.ops->convert(narrow, wide);
    return narrow;
  };
  const Tensor q = matrix(), k = matrix(), v = matrix(), out = matrix();
  const Tensor lse = Tensor::empty({tokens, model.num_heads}, rank.precision.wide);
  const AttentionItem item{0, tokens, 0, tokens};
  const double flops = 4.0 * double(tokens) * double(tokens) * double(model.width);
  const ClockNs clock = work_clock(rank.pool.num_threads());  // ranks may share cores
  double best = 0, spent = 0;
  for (int64_t calls = 0; calls < 3 || spent < seconds; ++calls) {
    const int64_t start = clock();
    rank.ops->attention(out, lse, q, k, v, {&item, 1}, model.num_heads,
                        1 / std::sqrt(double(model.head_width())), false);
    const double took = 1e-9 * double(clock() - start);
    spent += took;
    best = std::max(best, flops / took);
  }
  return best;
}

}  // namespace zoetrope
