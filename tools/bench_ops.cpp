#include "tools/bench_ops.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "core/clocks.h"
#include "core/rng.h"
#include "model/config.h"
#include "model/ops/ops.h"
#include "tools/rank_device.h"

namespace zoetrope {
namespace {

/// Best of at least three runs and 0.15 s: a neighbour on the machine only ever makes a run slower. On a GPU
/// a run is many calls, so that a launch and the wait at the end are small beside them.
double best_seconds(ClockNs clock, const Stream& stream, const std::function<void()>& run) {
  run();
  const int calls = stream.device() == Device::kCpu ? 1 : 16;
  int64_t best = std::numeric_limits<int64_t>::max();
  const int64_t begin = wall_ns();
  for (int i = 0; i < 3 || wall_ns() - begin < 150'000'000; ++i) {
    stream.synchronize();
    const int64_t start = clock();
    for (int call = 0; call < calls; ++call) run();
    stream.synchronize();
    best = std::min(best, clock() - start);
  }
  return 1e-9 * double(std::max<int64_t>(best, 1)) / calls;
}

/// One operator: flops = 2 per multiply-add, bytes = each operand once; runs per train step.
struct Row {
  std::string name;
  double seconds = 0, flops = 0, bytes = 0;
  int64_t per_step = 0;
};

Tensor noise(std::initializer_list<int64_t> shape, DType dtype, uint64_t seed) {
  const Tensor x = Tensor::empty(shape, dtype);
  for (int64_t t = 0; t < x.rows(); ++t)
    for (int64_t c = 0; c < x.row_size(); ++c) {
      const float value = uniform({seed, Purpose::kNoise, 0, t}, c) - 0.5f;
      if (dtype == DType::kF32) x.row<float>(t)[c] = value;
      else x.row<bf16>(t)[c] = bf16(value);
    }
  return x;
}

class Bench {
 public:
  explicit Bench(const OpsBench& given)
      : b_(given),
        device_(device_of(given.device)),
        precision_(Precision::from_name(given.precision)),
        pool_(int(given.threads)),
        workspace_(
            ops_workspace_bytes(device_, int(given.threads), std::max<int64_t>(given.tokens, 4096),
                                std::max<int64_t>(given.width, 4096), std::max<int64_t>(given.ffn, 4096),
                                given.width / given.heads, precision_.compute),
            device_, "bench ops"),
        ops_(make_ops(device_, pool_, workspace_)) {}

  const std::vector<Row>& rows() const { return rows_; }
  double peak() const { return peak_; }

  /// Square products, the yardstick. Napkin: 2 n^3 flops; 3 n^2 elements move.
  void squares() {
    for (const int64_t n : {int64_t(2048), int64_t(4096)}) {
      Weight weight = prepared(n, n);
      const Tensor x = random({n, n}, precision_.compute, 1),
                   y = Tensor::empty({n, n}, precision_.compute, device_);
      add(
          join_message("product ", n, "^3"), [&] { ops_->linear(y, x, weight, Tensor()); },
          2.0 * double(n) * double(n) * double(n), 3.0 * double(x.bytes()), 0);
    }
  }

  /// A linear layer's three products. Napkin: 2 T N K flops each.
  void linear(const char* name, int64_t T, int64_t N, int64_t K, int64_t per_step) {
    Weight weight = prepared(N, K);
    const Tensor x = random({T, K}, precision_.compute, 1), dy = random({T, N}, precision_.compute, 2);
    const Tensor y = Tensor::empty({T, N}, precision_.compute, device_),
                 dx = Tensor::empty({T, K}, precision_.compute, device_);
    const Tensor bias = random({N}, DType::kF32, 3).reshape({N});
    const Tensor dweight = Tensor::zeros({N, K}, DType::kF32, device_),
                 dbias = Tensor::zeros({N}, DType::kF32, device_);
    const double flops = 2.0 * double(T) * double(N) * double(K);
    const double bytes = double(x.bytes() + y.bytes()) + double(N * K) * double(size_of(precision_.compute));
    const std::string shape = join_message(name, " [", T, ",", K, "]x[", K, ",", N, "]");
    add(
        shape + " forward", [&] { ops_->linear(y, x, weight, bias); }, flops, bytes, per_step);
    add(
        shape + " d input", [&] { ops_->linear_backward_input(dx, dy, weight); }, flops, bytes, per_step);
    add(
        shape + " d weight", [&] { ops_->linear_backward_weight(dweight, dbias, dy, x); }, flops,
        bytes + 8.0 * double(N * K), per_step);
  }

  /// Napkin: forward 2 products of 2 S S K H per sample, backward counted as 4 (the fifth is a
  /// recomputation).
  void attention(const char* name, int64_t T, int64_t rows, int64_t kv_rows, int64_t per_step) {
    const int64_t D = b_.width, H = b_.heads, samples = T / rows;
    std::vector<AttentionItem> items;
    for (int64_t i = 0; i < samples; ++i)
      items.push_back({i * rows, (i + 1) * rows, i * kv_rows, (i + 1) * kv_rows});
    const Tensor q = random({T, D}, precision_.compute, 1), dout = random({T, D}, precision_.compute, 4);
    const Tensor k = random({samples * kv_rows, D}, precision_.compute, 2);
    const Tensor v = random({samples * kv_rows, D}, precision_.compute, 3);
    const Tensor out = Tensor::empty({T, D}, precision_.compute, device_),
                 lse = Tensor::empty({T, H}, DType::kF32, device_);
    const Tensor delta = Tensor::empty({T, H}, DType::kF32, device_),
                 dq = Tensor::zeros({T, D}, DType::kF32, device_);
    const Tensor dk = Tensor::zeros({k.rows(), D}, DType::kF32, device_),
                 dv = Tensor::zeros({k.rows(), D}, DType::kF32, device_);
    const double scale = 1 / std::sqrt(double(D / H)), flops = 4.0 * double(T) * double(kv_rows) * double(D);
    const double bytes = double(q.bytes() * 2 + k.bytes() * 2);
    add(
        std::string(name) + " forward", [&] { ops_->attention(out, lse, q, k, v, items, H, scale, false); },
        flops, bytes, per_step);
    add(
        std::string(name) + " delta", [&] { ops_->attention_delta(delta, dout, out, H); }, 0,
        2.0 * double(out.bytes()), per_step);
    add(
        std::string(name) + " backward",
        [&] { ops_->attention_backward(dq, dk, dv, dout, out, q, k, v, lse, delta, items, H, scale); },
        2 * flops, 4 * bytes, per_step);
  }

  /// Norms, rotations, gates, activations: napkin is bytes over memory bandwidth.
  void pointwise() {
    const int64_t T = b_.tokens, D = b_.width, F = b_.ffn, H = b_.heads, S = T / b_.sample_tokens,
                  L = b_.layers;
    const DType c = precision_.compute;
    const Tensor x = random({T, D}, DType::kF32, 1), y = random({T, D}, c, 2),
                 dx = Tensor::zeros({T, D}, DType::kF32, device_);
    const Tensor stats = Tensor::empty({T, 2}, DType::kF32, device_),
                 rstd = Tensor::empty({T}, DType::kF32, device_);
    const Tensor m = random({S, D}, DType::kF32, 3), dm = Tensor::zeros({S, D}, DType::kF32, device_),
                 dn = Tensor::zeros({S, D}, DType::kF32, device_);
    const Tensor w = random({D}, DType::kF32, 4).reshape({D}), dw = Tensor::zeros({D}, DType::kF32, device_),
                 db = Tensor::zeros({D}, DType::kF32, device_);
    const Tensor table = random({T, D / H}, DType::kF32, 5), z = Tensor::empty({T, D}, c, device_),
                 segment = Tensor::empty({T}, DType::kI32, device_);
    const Tensor numbers = host_twin(segment);
    for (int64_t t = 0; t < T; ++t) numbers.data<int32_t>()[t] = int32_t(t / b_.sample_tokens);
    from_host(segment, numbers);
    const double wide = double(x.bytes()), narrow = double(y.bytes());
    add(
        "layer_norm_modulate", [&] { ops_->layer_norm_modulate(z, stats, x, m, m, segment, 1e-6); }, 0,
        wide + narrow, 2 * L);
    add(
        "layer_norm_modulate backward",
        [&] { ops_->layer_norm_modulate_backward(dx, dm, dn, y, x, stats, m, segment); }, 0,
        3 * wide + narrow, 2 * L);
    add(
        "layer_norm", [&] { ops_->layer_norm(z, stats, x, w, w, 1e-6); }, 0, wide + narrow, L);
    add(
        "layer_norm backward", [&] { ops_->layer_norm_backward(dx, dw, db, y, x, stats, w); }, 0,
        3 * wide + narrow, L);
    add(
        "rms_norm_rope", [&] { ops_->rms_norm_rope(z, rstd, y, w, table, H, 1e-6); }, 0, 2 * narrow, 3 * L);
    add(
        "rms_norm_rope backward", [&] { ops_->rms_norm_rope_backward(z, dw, x, y, rstd, w, table, H); }, 0,
        2 * narrow + wide, 3 * L);
    add(
        "gate_residual", [&] { ops_->gate_residual(dx, x, y, m, segment); }, 0, 2 * wide + narrow, 3 * L);
    add(
        "gate_residual backward", [&] { ops_->gate_residual_backward(z, dm, x, y, m, segment); }, 0,
        wide + 2 * narrow, 3 * L);
    add(
        "convert", [&] { ops_->convert(z, x); }, 0, wide + narrow, 2 * L);
    add(
        "zero dq, dk or dv", [&] { ops_->zero(dx); }, 0, wide, 4 * L);
    const Tensor f = random({T, F}, c, 6), g = Tensor::empty({T, F}, c, device_);
    add(
        "gelu", [&] { ops_->activate(g, f, Activation::kGelu); }, 0, 2 * double(f.bytes()), L);
    add(
        "gelu backward", [&] { ops_->activate_backward(g, g, f, Activation::kGelu); }, 0,
        3 * double(f.bytes()), L);
  }

  /// Noised inputs and targets from pixels; the loss and its gradient.
  void flow() {
    const int64_t T = b_.tokens, P = b_.features;
    const Tensor tokens = Tensor::zeros({T, P}, DType::kU8, device_),
                 features = Tensor::empty({T, P}, precision_.compute, device_);
    const Tensor target = random({T, P}, DType::kF32, 1), y = random({T, P}, DType::kF32, 2),
                 weight = random({T}, DType::kF32, 3).reshape({T});
    const Tensor row_loss = Tensor::empty({T}, DType::kF32, device_);
    const std::vector<FlowRows> rows{{0, T, 0.5, {1, Purpose::kNoise, 0, 0}}};
    const double wide = double(target.bytes()), narrow = double(features.bytes());
    add(
        "flow_inputs", [&] { ops_->flow_inputs(features, target, tokens, rows, 1, false); }, 0,
        double(tokens.bytes()) + narrow + wide, 1);
    add(
        "squared_error", [&] { ops_->squared_error(features, row_loss, y, target, weight, 1.0); }, 0,
        2 * wide + narrow, 1);
  }

  /// AdamW and EMA read five floats per parameter and write four. Then the prepared forms of the weights.
  void optimizer() {
    const int64_t D = b_.width, n = b_.layers * (8 * D * D + 2 * D * b_.ffn) + 8 * D * D;
    const Tensor v = Tensor::zeros({n}, DType::kF32, device_), m = Tensor::zeros({n}, DType::kF32, device_),
                 s = Tensor::zeros({n}, DType::kF32, device_);
    const Tensor e = Tensor::zeros({n}, DType::kF32, device_), g = Tensor::zeros({n}, DType::kF32, device_);
    AdamwStep step;
    step.ema_decay = 0.999;
    add(
        join_message("adamw + ema, ", n / 1000000, " M"), [&] { ops_->adamw(v, m, s, e, g, step); }, 0,
        36.0 * double(n), 1);
    add(
        "zero gradients", [&] { ops_->zero(g); }, 0, 4.0 * double(n), 1);
    add(
        "sum_squares", [&] { ops_->sum_squares(g); }, 0, 4.0 * double(n), 1);
    const Weight weight = prepared(b_.ffn, D);
    add(
        "prepare one [ffn, D]", [&] { ops_->prepare(weight, precision_.compute); }, 0,
        6.0 * double(b_.ffn * D), n / (b_.ffn * D));
  }

  /// Products and own loops in turn against the sum of the two alone: idle threads of a library that spin
  /// would show here. Returns alternating / sum.
  double alternation() {
    const int64_t T = b_.tokens, D = b_.width;
    const Weight weight = prepared(D, D);
    const Tensor x = random({T, D}, precision_.compute, 1),
                 y = Tensor::empty({T, D}, precision_.compute, device_);
    const auto product = [&] { ops_->linear(y, x, weight, Tensor()); };
    const auto own = [&] { ops_->activate(y, y, Activation::kGelu); };
    const auto many = [this](const std::function<void()>& a, const std::function<void()>& b) {
      return best_seconds(clock_, ops_->stream(), [&] {
        for (int i = 0; i < 8; ++i) {
          a();
          b();
        }
      });
    };
    const double both = many(product, own);
    const double alone = many(product, [] {}) + many(own, [] {});
    return both / alone;
  }

 private:
  Tensor random(std::initializer_list<int64_t> shape, DType dtype, uint64_t seed) const {
    return to_device(noise(shape, dtype, seed), device_);
  }
  Weight prepared(int64_t n, int64_t k) {
    Weight weight;
    weight.value = random({n, k}, DType::kF32, 9);
    ops_->reserve_prepared(weight, precision_.compute);
    ops_->prepare(weight, precision_.compute);
    return weight;
  }
  void add(const std::string& name, const std::function<void()>& run, double flops, double bytes,
           int64_t per_step) {
    rows_.push_back({name, best_seconds(clock_, ops_->stream(), run), flops, bytes, per_step});
    if (name.find("attention") == std::string::npos) peak_ = std::max(peak_, flops / rows_.back().seconds);
  }

  OpsBench b_;
  Device device_;
  ClockNs clock_ = clock_of(device_, int(b_.threads));
  Precision precision_;
  ThreadPool pool_;
  Arena workspace_;
  std::unique_ptr<Ops> ops_;
  std::vector<Row> rows_;
  double peak_ = 0;
};

void print_table(const OpsBench& b, const Bench& bench, double alternation) {
  std::printf("%s, %lld threads, peak of products %.1f GFLOP/s; %s\n", b.precision.c_str(),
              (long long)b.threads, bench.peak() * 1e-9,
              precision_support(device_of(b.device), Precision::from_name(b.precision).compute).how.c_str());
  std::printf("%-44s %9s %9s %7s %7s %5s %9s\n", "operator", "ms", "GFLOP/s", "peak", "GB/s", "x", "ms/step");
  double total = 0, flops = 0;
  for (const Row& row : bench.rows()) {
    const double ms = row.seconds * 1e3, step_ms = ms * double(row.per_step);
    std::printf("%-44s %9.3f %9.1f %6.1f%% %7.1f %5lld %9.1f\n", row.name.c_str(), ms,
                row.flops / row.seconds * 1e-9, 100 * row.flops / row.seconds / bench.peak(),
                row.bytes / row.seconds * 1e-9, (long long)row.per_step, step_ms);
    total += step_ms;
    flops += row.flops * double(row.per_step);
  }
  std::printf("sum of a step: %.1f ms, %.2f TFLOP, %.1f GFLOP/s, %.1f%% of the peak\n", total, flops * 1e-12,
              flops / total * 1e-6, 100 * flops / (total * 1e-3) / bench.peak());
  std::printf("products and own loops in turn / sum of both alone: %.3f\n", alternation);
}

std::string to_json(const OpsBench& b, const Bench& bench, double alternation) {
  nlohmann::json rows = nlohmann::json::array();
  for (const Row& row : bench.rows())
    rows.push_back({{"name", row.name},
                    {"seconds", row.seconds},
                    {"flops", row.flops},
                    {"bytes", row.bytes},
                    {"per_step", row.per_step},
                    {"peak_share", row.flops / row.seconds / bench.peak()}});
  const nlohmann::json all{{"bench", "ops"},
                           {"precision", b.precision},
                           {"threads", b.threads},
                           {"peak_flops_per_second", bench.peak()},
                           {"alternation", alternation},
                           {"rows", rows}};
  return all.dump(2);
}

}  // namespace

std::string run_bench_ops(const OpsBench& b) {
  ZT_REQUIRE(b.tokens >= b.sample_tokens && b.tokens % b.sample_tokens == 0 && b.width % b.heads == 0,
             "bench ops: ", b.tokens, " tokens must be a multiple of ", b.sample_tokens,
             " per sample, width ", b.width, " of ", b.heads, " heads");
  Bench bench(b);
  bench.squares();
  bench.linear("qkv", b.tokens, 3 * b.width, b.width, b.layers);
  bench.linear("o, cross q, cross o", b.tokens, b.width, b.width, 3 * b.layers);
  bench.linear("ffn.0", b.tokens, b.ffn, b.width, b.layers);
  bench.linear("ffn.2", b.tokens, b.width, b.ffn, b.layers);
  bench.linear("cross k, v", b.tokens / b.sample_tokens * b.text_rows, 2 * b.width, b.width, b.layers);
  bench.linear("patches", b.tokens, b.width, b.features, 1);
  bench.linear("head", b.tokens, b.features, b.width, 1);
  bench.attention("self-attention", b.tokens, b.sample_tokens, b.sample_tokens, b.layers);
  bench.attention("cross-attention", b.tokens, b.sample_tokens, b.text_rows, b.layers);
  bench.pointwise();
  bench.flow();
  bench.optimizer();
  const double alternation = bench.alternation();
  if (!b.json) print_table(b, bench, alternation);
  return to_json(b, bench, alternation);
}

}  // namespace zoetrope
