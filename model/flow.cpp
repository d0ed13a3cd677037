#include "model/flow.h"

#include <algorithm>
#include <cmath>

#include "model/activations.h"
#include "model/text.h"

namespace zoetrope {

struct Flow::State {
  FlowConfig flow;
  ModelConfig model;
  Precision precision;
  const Ops& ops;
  Dit& dit;
  Arena& arena;
  uint64_t seed;

  bool predicts_sample() const { return flow.prediction == "sample"; }
  /// What the error of the prediction is divided by to be one of velocity; 1 for a velocity prediction.
  double divisor(double sigma) const { return predicts_sample() ? std::max(sigma, flow.sigma_floor) : 1.0; }

  DitInput input_of(const FlowBuffers& buffers, const std::vector<double>& sigmas,
                    const std::vector<std::string>& captions) const;
  void fill_inputs(const FlowBuffers& buffers, const MicroBatch& batch, const std::vector<double>& sigmas,
                   Purpose noise) const;
  void fill_weights(const Tensor& weight, const MicroBatch& batch, const std::vector<double>& sigmas) const;
  FlowLoss run(const MicroBatch& batch, std::vector<double> sigmas, const std::vector<std::string>& captions,
               Purpose noise, int64_t global_count);
};

namespace {

/// Elements of a wide vector in host memory, whatever its type.
void set_element(const Tensor& vector, int64_t index, double value) {
  if (vector.dtype() == DType::kF64) vector.data<double>()[index] = value;
  else vector.data<float>()[index] = float(value);
}
double element(const Tensor& vector, int64_t index) {
  return vector.dtype() == DType::kF64 ? vector.data<double>()[index] : double(vector.data<float>()[index]);
}

double shifted(double sigma, double shift) { return shift * sigma / (1 + (shift - 1) * sigma); }

}  // namespace

double draw_sigma(const FlowConfig& config, uint64_t seed, int64_t draw) {
  const RandomKey key{seed, Purpose::kTimestep, draw, 0};
  double sigma = uniform(key);
  if (config.timesteps == "logit-normal") {
    const double logit = config.logit_mean + config.logit_std * double(normal(key));
    sigma = 1 / (1 + std::exp(-logit));
  }
  return shifted(sigma, config.shift);
}

int64_t loss_count(int64_t tokens, const ModelConfig& model) { return tokens * model.out_features(); }

Flow::Flow(const FlowConfig& flow, const ModelConfig& model, Precision precision, const Ops& ops, Dit& dit,
           Arena& arena, uint64_t seed)
    : state_(std::make_unique<State>(State{flow, model, precision, ops, dit, arena, seed})) {
  ZT_CHECK(model.in_channels == model.out_channels,
           "flow matching predicts what it reads: ", model.in_channels, " input channels, ",
           model.out_channels, " output channels");
}
Flow::~Flow() = default;

const Ops& Flow::ops() const { return state_->ops; }
DType Flow::wide_type() const { return state_->precision.wide; }

DitInput Flow::State::input_of(const FlowBuffers& buffers, const std::vector<double>& sigmas,
                               const std::vector<std::string>& captions) const {
  DitInput input{buffers.features, {}, buffers.text};
  for (double sigma : sigmas) input.timesteps.push_back(1000 * sigma);
  const int64_t L = model.text_rows;
  const Tensor text = host_twin(buffers.text);
  for (int64_t s = 0; s < int64_t(captions.size()); ++s)
    embed_text(text.slice_rows(s * L, (s + 1) * L), captions[size_t(s)], uint64_t(model.text_seed));
  from_host(buffers.text, text);
  return input;
}

void Flow::State::fill_inputs(const FlowBuffers& buffers, const MicroBatch& batch,
                              const std::vector<double>& sigmas, Purpose noise) const {
  std::vector<FlowRows> rows;
  for (size_t s = 0; s < batch.segments.size(); ++s) {
    const Segment& segment = batch.segments[s];
    rows.push_back({segment.row,
                    segment.row + segment.num_tokens(),
                    sigmas[s],
                    {seed, noise, segment.draw, segment.begin}});
  }
  const ArenaScope scope(arena);
  Tensor tokens = batch.tokens;
  if (tokens.device() != ops.device()) {  // room that the network takes later
    tokens = arena.take({batch.num_tokens(), batch.tokens.row_size()}, batch.tokens.dtype());
    copy(tokens, batch.tokens);
  }
  ops.flow_inputs(buffers.features, buffers.target, tokens, rows, model.in_channels, !predicts_sample());
}

void Flow::State::fill_weights(const Tensor& weight, const MicroBatch& batch,
                               const std::vector<double>& sigmas) const {
  const Tensor host = host_twin(weight);
  for (size_t s = 0; s < batch.segments.size(); ++s) {
    const Segment& segment = batch.segments[s];
    const double value = 1 / (divisor(sigmas[s]) * divisor(sigmas[s]));
    for (int64_t t = segment.row; t < segment.row + segment.num_tokens(); ++t) set_element(host, t, value);
  }
  from_host(weight, host);
}

FlowLoss Flow::State::run(const MicroBatch& batch, std::vector<double> sigmas,
                          const std::vector<std::string>& captions, Purpose noise, int64_t global_count) {
  const ArenaScope scope(arena);
  const bool train = global_count > 0;
  const int64_t num_segments = int64_t(batch.segments.size());
  Placer placer(&arena, precision);
  FlowBuffers buffers;
  buffers.place(placer, model, {batch.num_tokens(), num_segments});
  const DitInput input = input_of(buffers, sigmas, captions);
  FlowLoss loss;
  loss.per_segment.assign(size_t(num_segments), 0.0);
  if (batch.num_tokens() > 0) {
    fill_inputs(buffers, batch, sigmas, noise);
    fill_weights(buffers.weight, batch, sigmas);
  }
  const Tensor prediction = dit.forward(batch, input, train);
  if (batch.num_tokens() > 0) {
    loss.sum = ops.squared_error(buffers.dprediction, buffers.row_loss, prediction, buffers.target,
                                 buffers.weight, train ? 1.0 / double(global_count) : 0.0);
    const Tensor row_loss = to_host(buffers.row_loss);
    for (int64_t s = 0; s < num_segments; ++s) {
      const Segment& segment = batch.segments[size_t(s)];
      for (int64_t t = segment.row; t < segment.row + segment.num_tokens(); ++t)
        loss.per_segment[size_t(s)] += element(row_loss, t);
    }
  }
  if (train) dit.backward(batch, input, buffers.dprediction);
  loss.sigmas = std::move(sigmas);
  return loss;
}

FlowLoss Flow::loss_and_gradients(const MicroBatch& batch, int64_t global_count) {
  State& s = *state_;
  ZT_CHECK(global_count > 0, "a loss over ", global_count, " elements");
  std::vector<double> sigmas;
  std::vector<std::string> captions;
  for (const Segment& segment : batch.segments) {
    sigmas.push_back(draw_sigma(s.flow, s.seed, segment.draw));
    const bool dropped =
        uniform({s.seed, Purpose::kCaptionDropout, segment.draw, 0}) < s.flow.caption_dropout;
    captions.push_back(dropped ? std::string() : segment.caption);
  }
  return s.run(batch, std::move(sigmas), captions, Purpose::kNoise, global_count);
}

FlowLoss Flow::loss_at(const MicroBatch& batch, double sigma) {
  ZT_CHECK(sigma > 0 && sigma <= 1, "sigma ", sigma, ", expected in (0, 1]");
  std::vector<std::string> captions;
  for (const Segment& segment : batch.segments) captions.push_back(segment.caption);
  return state_->run(batch, std::vector<double>(batch.segments.size(), sigma), captions, Purpose::kHeldOut,
                     0);
}

void Flow::velocity(const Tensor& velocity, const Tensor& x, double sigma, const MicroBatch& batch,
                    const std::vector<std::string>& captions) {
  State& s = *state_;
  ZT_CHECK(captions.size() == batch.segments.size(), captions.size(), " captions for ", batch.segments.size(),
           " segments");
  const ArenaScope scope(s.arena);
  Placer placer(&s.arena, s.precision);
  FlowBuffers buffers;
  buffers.place(placer, s.model, {batch.num_tokens(), int64_t(batch.segments.size())});
  const DitInput input = s.input_of(buffers, std::vector<double>(batch.segments.size(), sigma), captions);
  if (batch.num_tokens() > 0) s.ops.convert(buffers.features, x);
  const Tensor prediction = s.dit.forward(batch, input, false);
  if (batch.num_tokens() > 0)
    s.ops.flow_velocity(velocity, x, prediction, s.model.out_channels,
                        s.predicts_sample() ? s.divisor(sigma) : 0.0);
}

}  // namespace zoetrope
