#include "tests/support/ring_run.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/check.h"

namespace zoetrope::test {
namespace {

double element(const Tensor& tensor, int64_t row, int64_t column) {
  if (tensor.dtype() == DType::kBF16) return double(float(tensor.row<bf16>(row)[column]));
  return tensor.dtype() == DType::kF64 ? tensor.row<double>(row)[column]
                                       : double(tensor.row<float>(row)[column]);
}
void set_element(const Tensor& tensor, int64_t row, int64_t column, double value) {
  if (tensor.dtype() == DType::kF64) tensor.row<double>(row)[column] = value;
  else if (tensor.dtype() == DType::kBF16) tensor.row<bf16>(row)[column] = bf16(float(value));
  else tensor.row<float>(row)[column] = float(value);
}
void fill_nan(const Tensor& tensor) {
  for (int64_t i = 0; i < tensor.rows(); ++i)
    for (int64_t c = 0; c < tensor.row_size(); ++c) set_element(tensor, i, c, std::nan(""));
}

struct Tensors {
  Tensor qkv, dout, out, lse, dq, dk, dv;
  int64_t width;
  std::array<Tensor*, 7> all() { return {&qkv, &dout, &out, &lse, &dq, &dk, &dv}; }
  Tensor q() const { return qkv.columns(0, width); }
  Tensor k() const { return qkv.columns(width, 2 * width); }
  Tensor v() const { return qkv.columns(2 * width, 3 * width); }
};

Tensors make_tensors(const RingCase& ring_case, const MicroBatch& batch, Precision precision, bool shifted) {
  const int64_t width = ring_case.heads * ring_case.head_width, rows = batch.num_tokens();
  Tensors t;
  t.width = width;
  t.qkv = Tensor::empty({rows, 3 * width}, precision.compute);
  t.dout = Tensor::empty({rows, width}, precision.compute);
  t.out = Tensor::empty({rows, width}, precision.compute);
  t.lse = Tensor::empty({rows, ring_case.heads}, precision.wide);
  for (Tensor* gradient : {&t.dq, &t.dk, &t.dv}) *gradient = Tensor::empty({rows, width}, precision.wide);
  for (const Tensor* output : {&t.out, &t.lse, &t.dq, &t.dk, &t.dv}) fill_nan(*output);
  for (const Segment& segment : batch.segments) {
    const WholeAttention& whole = ring_case.whole[size_t(segment.sample)];
    for (int64_t i = 0; i < segment.num_tokens(); ++i) {
      const int64_t token = (segment.begin + i + (shifted ? 1 : 0)) % whole.tokens;
      for (int64_t c = 0; c < width; ++c) {
        const size_t from = size_t((segment.begin + i) * width + c), keys = size_t(token * width + c);
        set_element(t.qkv, segment.row + i, c, whole.q[from]);
        set_element(t.qkv, segment.row + i, width + c, whole.k[keys]);
        set_element(t.qkv, segment.row + i, 2 * width + c, whole.v[from]);
        set_element(t.dout, segment.row + i, c, whole.dout[from]);
      }
    }
  }
  return t;
}

/// Largest |got - expected| over the rows of a segment; NaN counts as infinite.
double deviation(const Tensor& got, const std::vector<double>& expected, const Segment& segment) {
  const int64_t columns = got.row_size();
  double worst = 0;
  for (int64_t i = 0; i < segment.num_tokens(); ++i)
    for (int64_t c = 0; c < columns; ++c) {
      const double error =
          std::abs(element(got, segment.row + i, c) - expected[size_t((segment.begin + i) * columns + c)]);
      worst = std::max(worst, std::isnan(error) ? std::numeric_limits<double>::infinity() : error);
    }
  return worst;
}

}  // namespace

RingCase make_ring_case(uint64_t seed, int ranks, int idle, std::vector<int64_t> lengths, DType inputs,
                        int64_t head_width) {
  RingCase ring_case;
  ring_case.head_width = head_width;
  CaseRandom random(seed);
  ring_case.plan = random_wave(lengths, ranks, idle, random);
  for (size_t sample = 0; sample < lengths.size(); ++sample)
    ring_case.whole.push_back(whole_attention(lengths[sample], ring_case.heads, ring_case.head_width,
                                              seed * 1000 + sample, inputs));
  ring_case.lengths = std::move(lengths);
  validate_plan(ring_case.plan, ring_case.lengths, ranks);
  return ring_case;
}

RingOutcome run_ring_case(const RingCase& ring_case, Comm& comm, const Ops& ops, Arena& arena,
                          Precision precision, PlantedFault fault) {
  ModelConfig config;
  config.width = ring_case.heads * ring_case.head_width;
  config.num_heads = ring_case.heads;
  int64_t max_tokens = 0;
  for (const RingView& ring : split_samples(ring_case.plan.waves[0]))
    for (const int64_t tokens : ring.tokens) max_tokens = std::max(max_tokens, tokens);
  ContextAttention attention(ops, comm, arena, config, precision, max_tokens);
  if (fault == PlantedFault::kSkipStep) attention.plant_fault(RingFault::kSkipStep);
  if (fault == PlantedFault::kLoseGradient) attention.plant_fault(RingFault::kLoseGradient);
  attention.begin_wave(ring_case.plan, 0);
  const MicroBatch batch = layout_of(ring_case.plan, 0, comm.rank(), ring_case.lengths);
  Tensors t =
      make_tensors(ring_case, batch, precision, fault == PlantedFault::kShiftedRows && comm.rank() == 0);
  for (Tensor* each : t.all()) *each = to_device(*each, ops.device());
  const double scale = 1 / std::sqrt(double(ring_case.head_width));
  attention.forward(t.out, t.lse, t.q(), t.k(), t.v(), batch, 0, ring_case.heads, scale);
  attention.backward(t.dq, t.dk, t.dv, t.dout, t.q(), t.k(), t.v(), t.out, t.lse, batch, 0, ring_case.heads,
                     scale);
  for (Tensor* each : t.all()) *each = to_host(*each);
  RingOutcome outcome;
  outcome.stats = attention.stats();
  for (const Tensor* tensor : {&t.out, &t.lse, &t.dq, &t.dk, &t.dv}) {
    const size_t before = outcome.bytes.size();
    outcome.bytes.resize(before + size_t(tensor->bytes()));
    if (tensor->bytes() > 0)
      std::memcpy(outcome.bytes.data() + before, tensor->raw(), size_t(tensor->bytes()));
  }
  const double unit = precision.wide == DType::kF64 ? 0x1p-53 : 0x1p-24;
  for (const Segment& segment : batch.segments) {
    const WholeAttention& w = ring_case.whole[size_t(segment.sample)];
    const std::array<double, 5> errors{deviation(t.out, w.out, segment), deviation(t.lse, w.lse, segment),
                                       deviation(t.dq, w.dq, segment), deviation(t.dk, w.dk, segment),
                                       deviation(t.dv, w.dv, segment)};
    const std::array<double, 5> bounds{w.out_bound, w.lse_bound, w.dq_bound, w.dk_bound, w.dv_bound};
    for (size_t i = 0; i < errors.size(); ++i) {
      outcome.errors[i] = std::max(outcome.errors[i], errors[i]);
      outcome.worst = std::max(outcome.worst, errors[i] / (unit * bounds[i]));
    }
  }
  return outcome;
}

}  // namespace zoetrope::test
