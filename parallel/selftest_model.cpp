#include "parallel/selftest_model.h"

#include <algorithm>

namespace zoetrope {
namespace {

ModelConfig tiny_model() {
  ModelConfig config;
  config.width = 32;
  config.num_layers = 2;
  config.num_heads = 2;
  config.ffn = 48;
  config.frequency_width = 16;
  config.text_width = 12;
  config.text_rows = 5;
  config.patch = {1, 2, 2};
  return config;
}

/// Whole-sample attention whose keys are visited in several blocks: other sums, same result.
class BlockedAttention : public AttentionHook {
 public:
  BlockedAttention(const Ops& ops, Arena& arena, Precision precision)
      : ops_(ops), arena_(arena), precision_(precision) {}
  void set(int64_t num_blocks, bool reversed) {
    num_blocks_ = num_blocks;
    reversed_ = reversed;
  }
  void forward(const Tensor& out, const Tensor& lse, const Tensor& q, const Tensor& k, const Tensor& v,
               const MicroBatch& batch, int64_t, int64_t num_heads, double scale) override {
    const ArenaScope scope(arena_);
    const Tensor running = arena_.take({out.rows(), out.row_size()}, precision_.wide);
    for (const SampleRows& rows : sample_rows(batch)) {
      bool accumulate = false;
      for (const AttentionItem& item : blocks_of(rows)) {
        ops_.attention(running, lse, q, k, v, {&item, 1}, num_heads, scale, accumulate);
        accumulate = true;
      }
    }
    ops_.convert(out, running);
  }
  void backward(const Tensor& dq, const Tensor& dk, const Tensor& dv, const Tensor& dout, const Tensor& q,
                const Tensor& k, const Tensor& v, const Tensor& out, const Tensor& lse,
                const MicroBatch& batch, int64_t, int64_t num_heads, double scale) override {
    const ArenaScope scope(arena_);
    const Tensor delta = arena_.take({q.rows(), num_heads}, precision_.wide);
    ops_.attention_delta(delta, dout, out, num_heads);
    for (const Tensor* gradient : {&dq, &dk, &dv}) fill_zero(*gradient);
    for (const SampleRows& rows : sample_rows(batch))
      for (const AttentionItem& item : blocks_of(rows))
        ops_.attention_backward(dq, dk, dv, dout, out, q, k, v, lse, delta, {&item, 1}, num_heads, scale);
  }

 private:
  std::vector<AttentionItem> blocks_of(const SampleRows& rows) const {
    std::vector<AttentionItem> blocks;
    const int64_t tokens = rows.end - rows.begin;
    for (int64_t i = 0; i < num_blocks_; ++i) {
      const int64_t begin = rows.begin + tokens * i / num_blocks_,
                    end = rows.begin + tokens * (i + 1) / num_blocks_;
      if (begin < end) blocks.push_back({rows.begin, rows.end, begin, end});
    }
    if (reversed_) std::reverse(blocks.begin(), blocks.end());
    return blocks;
  }

  const Ops& ops_;
  Arena& arena_;
  Precision precision_;
  int64_t num_blocks_ = 1;
  bool reversed_ = false;
};

/// Sends attention to whichever way the current run uses.
class SwitchedAttention : public AttentionHook {
 public:
  AttentionHook* to = nullptr;
  void forward(const Tensor& out, const Tensor& lse, const Tensor& q, const Tensor& k, const Tensor& v,
               const MicroBatch& batch, int64_t block, int64_t num_heads, double scale) override {
    to->forward(out, lse, q, k, v, batch, block, num_heads, scale);
  }
  void backward(const Tensor& dq, const Tensor& dk, const Tensor& dv, const Tensor& dout, const Tensor& q,
                const Tensor& k, const Tensor& v, const Tensor& out, const Tensor& lse,
                const MicroBatch& batch, int64_t block, int64_t num_heads, double scale) override {
    to->backward(dq, dk, dv, dout, q, k, v, out, lse, batch, block, num_heads, scale);
  }
};

Plan plan_of_one_slot(const SelftestCase& test, bool reversed) {
  Plan plan;
  std::vector<Shard>& slot = plan.waves.emplace_back().slots.emplace_back();
  for (int64_t sample = 0; sample < int64_t(test.samples.size()); ++sample)
    slot.push_back({sample, 0, test.samples[size_t(sample)].tokens()});
  if (reversed) std::reverse(slot.begin(), slot.end());
  return plan;
}

/// Moves the first shard that doesn't start its sample by one token.
void shift_position(MicroBatch& batch) {
  for (Segment& segment : batch.segments)
    if (segment.begin > 0) {
      --segment.begin;
      --segment.end;
      return;
    }
}

}  // namespace

struct SelftestModel::State {
  const SelftestOptions& options;
  Comm& comm;
  ModelConfig config = tiny_model();
  ThreadPool pool{1};
  Arena arena;
  std::unique_ptr<Ops> ops;
  Parameters parameters;
  BlockedAttention blocked;
  ContextAttention ring;
  SwitchedAttention attention;
  GradientSync sync;
  GradientSink no_sync;
  ParameterSource source;
  WidthShard width;
  BlockRange blocks;
  Dit dit, dit_alone;
  Flow flow, flow_alone;

  State(const SelftestOptions& the_options, Comm& the_comm, int64_t max_tokens)
      : options(the_options),
        comm(the_comm),
        arena(0, options.device, "selftest"),
        ops(options.make_backend ? options.make_backend(pool, arena) : make_ops(options.device, pool, arena)),
        parameters(config, options.precision, *ops),
        blocked(*ops, arena, options.precision),
        ring(*ops, comm, arena, config, options.precision, max_tokens),
        sync(comm, parameters, 8192),  // several buckets even here
        dit(config, options.precision, *ops, parameters, {&ring, &sync, &source, &width, &blocks}, arena),
        dit_alone(config, options.precision, *ops, parameters,
                  {&attention, &no_sync, &source, &width, &blocks}, arena),
        flow({}, config, options.precision, *ops, dit, arena, options.seed),
        flow_alone({}, config, options.precision, *ops, dit_alone, arena, options.seed) {}

  int64_t features() const { return config.in_features(); }
  std::vector<double> gradients() const {
    const Tensor grads = to_host(parameters.grads());
    std::vector<double> values(static_cast<size_t>(grads.size()));
    for (int64_t i = 0; i < grads.size(); ++i)
      values[size_t(i)] =
          grads.dtype() == DType::kF64 ? grads.data<double>()[i] : double(grads.data<float>()[i]);
    return values;
  }
};

SelftestModel::SelftestModel(const SelftestOptions& options, Comm& comm, int64_t max_tokens,
                             int64_t max_segments)
    : state_(std::make_unique<State>(options, comm, max_tokens)) {
  State& s = *state_;
  const int64_t hooks =
      Arena::padded(max_tokens * s.config.width * 8) + Arena::padded(max_tokens * s.config.num_heads * 8);
  s.arena.reserve(activation_bytes(s.config, options.precision).of(max_tokens, max_segments) + hooks +
                  (options.make_backend
                       ? 0  // brings its own work space
                       : ops_workspace_bytes(options.device, 1, max_tokens, s.config.width, s.config.ffn,
                                             s.config.head_width(), options.precision.compute)));
  s.parameters.initialise(options.seed);
  s.parameters.prepare();
  if (options.fault == SelftestFault::kSkipRingStep) s.ring.plant_fault(RingFault::kSkipStep);
  if (options.fault == SelftestFault::kLoseKeyGradient) s.ring.plant_fault(RingFault::kLoseGradient);
}
SelftestModel::~SelftestModel() = default;

const Parameters& SelftestModel::parameters() const { return state_->parameters; }
const GradientSync& SelftestModel::sync() const { return state_->sync; }

StepOutcome SelftestModel::run_alone(const SelftestCase& test, Summation summation) {
  State& s = *state_;
  LocalAttention local(*s.ops, s.arena);
  s.attention.to = &local;
  if (summation == Summation::kHalvedKeys || summation == Summation::kReversedKeys) {
    s.attention.to = &s.blocked;
    s.blocked.set(summation == Summation::kHalvedKeys ? 2 : 4, summation == Summation::kReversedKeys);
  }
  const Plan plan = plan_of_one_slot(test, summation == Summation::kReversedPack);
  const MicroBatch batch = selftest_batch(test, plan, 0, 0, s.features());
  const int64_t count = loss_count(batch.num_tokens(), s.config);
  s.parameters.zero_grads();
  const FlowLoss loss = s.flow_alone.loss_and_gradients(batch, count);
  return {loss.sum / double(count), s.gradients()};
}

StepOutcome SelftestModel::run_plan(const SelftestCase& test) {
  State& s = *state_;
  int64_t tokens = 0;
  for (const SelftestSample& sample : test.samples) tokens += sample.tokens();
  if (s.options.fault == SelftestFault::kLeaveOutCount)
    for (const Wave& wave : test.plan.waves) tokens -= tokens_of(wave.slots.back());
  const StepResult result = run_loss_and_gradients(
      test.plan, 0, std::max<int64_t>(1, loss_count(tokens, s.config)), s.comm, s.flow, s.ring, s.sync,
      s.parameters,
      [&](int64_t wave) {
        MicroBatch batch = selftest_batch(test, test.plan, wave, s.comm.rank(), s.features());
        if (s.options.fault == SelftestFault::kShiftPosition) shift_position(batch);
        return batch;
      },
      *s.ops);
  return {result.loss, s.gradients()};
}

}  // namespace zoetrope
