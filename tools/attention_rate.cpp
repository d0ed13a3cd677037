#include "tools/attention_rate.h"

#include <algorithm>
#include <limits>

#include "core/clocks.h"
#include "model/dit.h"
#include "model/ops/ops.h"

namespace zoetrope {
namespace {

constexpr int64_t kTokens = 8192;

/// Of both signs and less than 1, in the type of products.
Tensor numbers(const Ops& ops, int64_t columns, DType dtype, int seed) {
  const Tensor host = Tensor::empty({kTokens, columns}, DType::kF32);
  for (int64_t i = 0; i < host.size(); ++i) host.data<float>()[i] = float((i + seed) % 17 - 8) / 16;
  const Tensor x = Tensor::empty({kTokens, columns}, dtype, ops.device());
  ops.convert(x, to_device(host, ops.device()));
  return x;
}

}  // namespace

double measure_attention(Device device, const ModelConfig& model, DType compute,
                         const OpsSettings& settings) {
  const ThreadPool pool(1);
  Arena arena(
      ops_workspace_bytes(device, 1, kTokens, model.width, model.ffn, model.head_width(), compute, settings),
      device, "timing of attention");
  const std::unique_ptr<Ops> ops = make_ops(device, pool, arena, settings);
  const int64_t D = model.width, H = model.num_heads;
  const Tensor q = numbers(*ops, D, compute, 1), k = numbers(*ops, D, compute, 2),
               v = numbers(*ops, D, compute, 3), dout = numbers(*ops, D, compute, 4);
  const auto empty = [&](int64_t columns, DType dtype) {
    return Tensor::empty({kTokens, columns}, dtype, device);
  };
  const Tensor out = empty(D, compute), lse = empty(H, DType::kF32), delta = empty(H, DType::kF32);
  const Tensor dq = numbers(*ops, D, DType::kF32, 5), dk = numbers(*ops, D, DType::kF32, 6),
               dv = numbers(*ops, D, DType::kF32, 7);
  const AttentionItem item{0, kTokens, 0, kTokens};
  const double scale = 0.1;
  double best = std::numeric_limits<double>::infinity();
  for (int round = 0; round < 5; ++round) {  // the first one compiles and loads
    ops->stream().synchronize();
    const int64_t start = wall_ns();
    ops->attention(out, lse, q, k, v, {&item, 1}, H, scale, false);
    ops->attention_delta(delta, dout, out, H);
    ops->attention_backward(dq, dk, dv, dout, out, q, k, v, lse, delta, {&item, 1}, H, scale);
    ops->stream().synchronize();
    best = std::min(best, 1e-9 * double(wall_ns() - start));
  }
  return best;
}

std::string faster_attention(const TrainConfig& config, Comm& comm,
                             const std::function<void(const std::string&)>& say) {
  const Device device = device_of(config.numerics.device);
  const DType compute = Precision::from_name(config.numerics.precision).compute;
  const int64_t head_width = config.model.head_width();
  if (device == Device::kCpu || compute != DType::kBF16 || (head_width != 64 && head_width != 128))
    return "own";
  OpsSettings settings{AttentionSource::kOwn, config.numerics.allow_nondeterministic};
  const double own = comm.all_reduce_max(measure_attention(device, config.model, compute, settings));
  double seconds = std::numeric_limits<double>::infinity();
  settings.attention = AttentionSource::kCudnn;
  try {
    seconds = measure_attention(device, config.model, compute, settings);
  } catch (const Error& reason) { say(join_message("attention by cuDNN can't be timed: ", reason.what())); }
  const double cudnn = comm.all_reduce_max(seconds);
  say(join_message("attention forward and backward over ", kTokens, " tokens: own ", 1e3 * own, " ms, cuDNN ",
                   1e3 * cudnn, " ms"));
  return cudnn < own ? "cudnn" : "own";
}

}  // namespace zoetrope
