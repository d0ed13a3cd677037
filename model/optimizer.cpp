#include "model/optimizer.h"

#include <algorithm>
#include <cmath>

namespace zoetrope {

double learning_rate_at(const OptimizerConfig& c, int64_t step) {
  if (step < c.warmup_steps) return c.learning_rate * double(step + 1) / double(c.warmup_steps);
  const double span = double(std::max<int64_t>(1, c.steps - c.warmup_steps));
  const double done = std::min(1.0, double(step - c.warmup_steps) / span);
  return c.final_learning_rate +
         0.5 * (c.learning_rate - c.final_learning_rate) * (1 + std::cos(M_PI * done));
}

Optimizer::Optimizer(const OptimizerConfig& config, const Parameters& parameters, const Ops& ops)
    : config_(config), parameters_(parameters), ops_(ops) {
  const DType wide = parameters.values().dtype();
  first_ = Tensor::zeros({parameters.count()}, wide, ops.device());
  second_ = Tensor::zeros({parameters.count()}, wide, ops.device());
  if (config.ema_decay > 0) ema_ = Tensor::zeros({parameters.count()}, wide, ops.device());
}

double Optimizer::grad_norm() const { return std::sqrt(ops_.sum_squares(parameters_.grads())); }

void Optimizer::step(int64_t step, double grad_norm) {
  AdamwStep update;
  update.learning_rate = learning_rate_at(config_, step);
  update.beta1 = config_.beta1;
  update.beta2 = config_.beta2;
  update.epsilon = config_.epsilon;
  update.step = step + 1;
  update.grad_scale = config_.clip > 0 && grad_norm > config_.clip ? config_.clip / grad_norm : 1.0;
  const double updates = double(step + 1);
  update.ema_decay = std::min(config_.ema_decay, (1 + updates) / (10 + updates));
  // Runs of parameters that decay, or don't, are contiguous: one pass each.
  const std::vector<Parameter>& list = parameters_.list();
  for (size_t i = 0; i < list.size();) {
    size_t end = i;
    while (end < list.size() && list[end].decay == list[i].decay) ++end;
    const int64_t from = list[i].offset, to = list[end - 1].offset + list[end - 1].size;
    update.weight_decay = list[i].decay ? config_.weight_decay : 0.0;
    ops_.adamw(parameters_.values().slice_rows(from, to), first_.slice_rows(from, to),
               second_.slice_rows(from, to), ema_.defined() ? ema_.slice_rows(from, to) : Tensor(),
               parameters_.grads().slice_rows(from, to), update);
    i = end;
  }
  parameters_.prepare();
}

int64_t Optimizer::persistent_bytes() const { return first_.bytes() + second_.bytes() + ema_.bytes(); }

}  // namespace zoetrope
