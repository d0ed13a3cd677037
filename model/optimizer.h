// AdamW with clipping, warm-up and cosine, and the moving average of the weights.
#pragma once

#include "model/params.h"

namespace zoetrope {

/// Read from table [optimisation].
struct OptimizerConfig {
  int64_t steps = 1000;  ///< length of the learning-rate schedule
  int64_t warmup_steps = 20;
  double learning_rate = 1e-3, final_learning_rate = 1e-4;
  double beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8, weight_decay = 0.01, clip = 1.0;
  double ema_decay = 0.999;  ///< 0: no EMA
  void visit(auto&& field) {
    field("schedule-steps", steps, "length of the learning-rate schedule in steps");
    field("warmup-steps", warmup_steps, "linear warm-up");
    field("learning-rate", learning_rate, "peak learning rate");
    field("final-learning-rate", final_learning_rate, "learning rate at the end of the cosine");
    field("beta1", beta1, "AdamW beta1");
    field("beta2", beta2, "AdamW beta2");
    field("adam-epsilon", epsilon, "AdamW epsilon");
    field("weight-decay", weight_decay, "decoupled weight decay of matrices");
    field("clip", clip, "largest gradient norm; 0 turns clipping off");
    field("ema-decay", ema_decay, "decay of the weights' moving average, as min(d, (1+n)/(10+n)); 0: off");
  }
};

/// Learning rate of step n, counted from 0.
double learning_rate_at(const OptimizerConfig& config, int64_t step);

class Optimizer {
 public:
  Optimizer(const OptimizerConfig& config, const Parameters& parameters, const Ops& ops);
  /// Norm of the whole gradient.
  double grad_norm() const;
  /// Applies one update with clipping at `grad_norm`; step counts from 0. Prepares the weights again.
  void step(int64_t step, double grad_norm);
  const Tensor& first() const { return first_; }
  const Tensor& second() const { return second_; }
  const Tensor& ema() const { return ema_; }  ///< undefined when off
  int64_t persistent_bytes() const;

 private:
  OptimizerConfig config_;
  const Parameters& parameters_;
  const Ops& ops_;
  Tensor first_, second_, ema_;
};

}  // namespace zoetrope
