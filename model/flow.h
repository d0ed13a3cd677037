// Flow matching: noise, target, loss and its gradient for one micro-batch.
// Source: notes in docs; x_sigma = (1 - sigma) x0 + sigma eps, v = eps - x0, t = 1000 sigma.
#pragma once

#include <string>
#include <vector>

#include "core/batch.h"
#include "core/rng.h"
#include "model/dit.h"

namespace zoetrope {

/// Read from table [flow]. `visit` names each field.
struct FlowConfig {
  std::string prediction = "sample";       ///< sample: x0 with velocity loss; velocity: v
  std::string timesteps = "logit-normal";  ///< uniform, logit-normal
  double logit_mean = 0, logit_std = 1, shift = 1;
  double caption_dropout = 0.1;
  double sigma_floor = 0.05;  ///< of the sample prediction's velocity: v = (x_sigma - x0) / max(sigma, floor)
  void visit(auto&& field) {
    field("prediction", prediction, "what the head predicts", std::vector<std::string>{"sample", "velocity"});
    field("timesteps", timesteps, "distribution of sigma",
          std::vector<std::string>{"uniform", "logit-normal"});
    field("logit-mean", logit_mean, "mean of the logit-normal distribution");
    field("logit-std", logit_std, "standard deviation of the logit-normal distribution");
    field("shift", shift, "timestep shift: s sigma / (1 + (s - 1) sigma)");
    field("caption-dropout", caption_dropout, "probability of training on the empty caption");
    field("sigma-floor", sigma_floor, "smallest divisor of the sample prediction's velocity loss");
  }
};

/// sigma of one draw: a function of (seed, draw) alone.
double draw_sigma(const FlowConfig& config, uint64_t seed, int64_t draw);

/// Sum of squared errors of a micro-batch (unscaled; divide by the step's global count), and per segment.
struct FlowLoss {
  double sum = 0;
  std::vector<double> per_segment;
  std::vector<double> sigmas;
};

class Flow {
 public:
  Flow(const FlowConfig& flow, const ModelConfig& model, Precision precision, const Ops& ops, Dit& dit,
       Arena& arena, uint64_t seed);
  ~Flow();

  /// Forward and backward of one micro-batch; gradients are those of sum / global_count, so that they add
  /// up over waves and ranks. An empty micro-batch returns 0 and still runs the hooks that ring mates need
  /// (it has none).
  FlowLoss loss_and_gradients(const MicroBatch& batch, int64_t global_count);
  /// Held-out: forward only at one fixed sigma for all segments, noise keyed by Purpose::kHeldOut.
  FlowLoss loss_at(const MicroBatch& batch, double sigma);
  /// Velocity at (x, sigma) for sampling: x [T, in_features] wide -> v [T, in_features] wide, same order
  /// (c, pt, ph, pw), written into `velocity`. `captions` per segment replace the batch's.
  void velocity(const Tensor& velocity, const Tensor& x, double sigma, const MicroBatch& batch,
                const std::vector<std::string>& captions);

  /// The operators that it runs on, and the type of velocities.
  const Ops& ops() const;
  DType wide_type() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Loss elements of a step: tokens times features per token.
int64_t loss_count(int64_t tokens, const ModelConfig& model);

}  // namespace zoetrope
