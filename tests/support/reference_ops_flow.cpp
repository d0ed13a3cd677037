// Attention, loss, optimizer and flow matching in double. The rest: reference_ops.cpp.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/support/reference_ops.h"

namespace zoetrope::test {
namespace {

double* row(const Tensor& x, int64_t t) { return x.row<double>(t); }

/// scale q k for one query row, one head and all keys of an item.
std::vector<double> scores_of(const Tensor& q, const Tensor& k, const AttentionItem& item, int64_t t,
                              int64_t first, int64_t K, double scale) {
  std::vector<double> scores;
  const double* qs = row(q, t);
  for (int64_t u = item.kv_begin; u < item.kv_end; ++u) {
    double sum = 0;
    const double* ks = row(k, u);
    for (int64_t c = first; c < first + K; ++c) sum += qs[c] * ks[c];
    scores.push_back(scale * sum);
  }
  return scores;
}

/// log(sum of exp); -inf for none.
double log_sum_exp(const std::vector<double>& scores) {
  double largest = -std::numeric_limits<double>::infinity(), sum = 0;
  for (const double s : scores) largest = std::max(largest, s);
  if (!std::isfinite(largest)) return largest;
  for (const double s : scores) sum += std::exp(s - largest);
  return largest + std::log(sum);
}

double token_value(const Tensor& tokens, int64_t t, int64_t c) {
  if (!tokens.defined()) return 0;
  if (tokens.dtype() == DType::kU8) return double(tokens.row<uint8_t>(t)[c]) / 127.5 - 1;
  return tokens.dtype() == DType::kF64 ? row(tokens, t)[c] : double(tokens.row<float>(t)[c]);
}

/// Position in patch-out order of element `c` in patch-in order.
int64_t patch_out(int64_t c, int64_t channels, int64_t features) {
  const int64_t volume = features / channels;
  return c % volume * channels + c / volume;
}

}  // namespace

void ReferenceOps::attention(const Tensor& out, const Tensor& lse, const Tensor& q, const Tensor& k,
                             const Tensor& v, std::span<const AttentionItem> items, int64_t num_heads,
                             double scale, bool accumulate) const {
  const int64_t K = q.row_size() / num_heads;
  for (const AttentionItem& item : items)
    for (int64_t t = item.q_begin; t < item.q_end; ++t)
      for (int64_t h = 0; h < num_heads; ++h) {
        const std::vector<double> scores = scores_of(q, k, item, t, h * K, K, scale);
        double& total = row(lse, t)[h];
        const double fresh = log_sum_exp(scores), before = accumulate ? total : fresh;
        const double after = accumulate ? log_sum_exp({before, fresh}) : fresh;
        const double kept = accumulate && std::isfinite(before) ? std::exp(before - after) : 0;
        double* sums = row(out, t);
        for (int64_t c = h * K; c < (h + 1) * K; ++c) sums[c] = kept > 0 ? kept * sums[c] : 0;
        for (size_t u = 0; u < scores.size(); ++u) {
          const double p = std::exp(scores[u] - after), *vs = row(v, item.kv_begin + int64_t(u));
          for (int64_t c = h * K; c < (h + 1) * K; ++c) sums[c] += p * vs[c];
        }
        total = after;
      }
}

void ReferenceOps::attention_delta(const Tensor& delta, const Tensor& dout, const Tensor& out,
                                   int64_t num_heads) const {
  const int64_t K = out.row_size() / num_heads;
  for (int64_t t = 0; t < out.rows(); ++t)
    for (int64_t h = 0; h < num_heads; ++h) {
      double sum = 0;
      for (int64_t c = h * K; c < (h + 1) * K; ++c) sum += row(dout, t)[c] * row(out, t)[c];
      row(delta, t)[h] = sum;
    }
}

void ReferenceOps::attention_backward(const Tensor& dq, const Tensor& dk, const Tensor& dv,
                                      const Tensor& dout, const Tensor& out, const Tensor& q, const Tensor& k,
                                      const Tensor& v, const Tensor& lse, const Tensor& delta,
                                      std::span<const AttentionItem> items, int64_t num_heads,
                                      double scale) const {
  const int64_t K = q.row_size() / num_heads;
  const Tensor delta_of_out = Tensor::empty({out.rows(), num_heads}, DType::kF64);
  attention_delta(delta_of_out, dout, out, num_heads);
  for (const AttentionItem& item : items)
    for (int64_t t = item.q_begin; t < item.q_end; ++t)
      for (int64_t h = 0; h < num_heads; ++h) {
        // Backends may compute delta from out: both must be the final ones.
        ZT_CHECK(row(delta_of_out, t)[h] == row(delta, t)[h], "attention_backward: row ", t, ", head ", h,
                 " has delta ", row(delta, t)[h], ", its out gives ", row(delta_of_out, t)[h]);
        const std::vector<double> scores = scores_of(q, k, item, t, h * K, K, scale);
        for (size_t i = 0; i < scores.size(); ++i) {
          const int64_t u = item.kv_begin + int64_t(i);
          const double p = std::exp(scores[i] - row(lse, t)[h]);
          const double *douts = row(dout, t), *vs = row(v, u), *ks = row(k, u), *qs = row(q, t);
          double *dvs = row(dv, u), *dqs = row(dq, t), *dks = row(dk, u), dp = 0;
          for (int64_t c = h * K; c < (h + 1) * K; ++c) dp += douts[c] * vs[c];
          const double ds = p * (dp - row(delta, t)[h]) * scale;
          for (int64_t c = h * K; c < (h + 1) * K; ++c) {
            dvs[c] += p * douts[c];
            dqs[c] += ds * ks[c];
            dks[c] += ds * qs[c];
          }
        }
      }
}

double ReferenceOps::squared_error(const Tensor& dy, const Tensor& row_loss, const Tensor& y,
                                   const Tensor& target, const Tensor& weight, double grad_scale) const {
  double total = 0;
  for (int64_t t = 0; t < y.rows(); ++t) {
    double sum = 0;
    const double w = weight.data<double>()[t];
    for (int64_t c = 0; c < y.row_size(); ++c) {
      const double error = row(y, t)[c] - row(target, t)[c];
      sum += w * error * error;
      row(dy, t)[c] = 2 * w * error * grad_scale;
    }
    row_loss.data<double>()[t] = sum;
    total += sum;
  }
  return total;
}

double ReferenceOps::sum_squares(const Tensor& x) const {
  double sum = 0;
  for (int64_t t = 0; t < x.rows(); ++t)
    for (int64_t c = 0; c < x.row_size(); ++c) sum += row(x, t)[c] * row(x, t)[c];
  return sum;
}

void ReferenceOps::adamw(const Tensor& value, const Tensor& first, const Tensor& second, const Tensor& ema,
                         const Tensor& grad, const AdamwStep& step) const {
  const double correction1 = 1 - std::pow(step.beta1, double(step.step));
  const double correction2 = 1 - std::pow(step.beta2, double(step.step));
  for (int64_t i = 0; i < value.size(); ++i) {
    double &v = value.data<double>()[i], &m = first.data<double>()[i], &s = second.data<double>()[i];
    const double g = grad.data<double>()[i] * step.grad_scale;
    m = step.beta1 * m + (1 - step.beta1) * g;
    s = step.beta2 * s + (1 - step.beta2) * g * g;
    v -= step.learning_rate * step.weight_decay * v;
    v -= step.learning_rate * (m / correction1) / (std::sqrt(s / correction2) + step.epsilon);
    if (ema.defined()) {
      double& e = ema.data<double>()[i];
      e = step.ema_decay * e + (1 - step.ema_decay) * v;
    }
  }
}

void ReferenceOps::flow_inputs(const Tensor& features, const Tensor& target, const Tensor& tokens,
                               std::span<const FlowRows> rows, int64_t channels, bool velocity_target) const {
  const int64_t P = features.row_size();
  std::vector<float> noise(static_cast<size_t>(P));
  for (const FlowRows& each : rows)
    for (int64_t t = each.row_begin; t < each.row_end; ++t) {
      RandomKey key = each.key;
      key.token += t - each.row_begin;
      fill_normal(key, noise.data(), P);
      for (int64_t c = 0; c < P; ++c) {
        const double x0 = token_value(tokens, t, c), eps = double(noise[size_t(c)]);
        row(features, t)[c] = (1 - each.sigma) * x0 + each.sigma * eps;
        if (target.defined()) row(target, t)[patch_out(c, channels, P)] = velocity_target ? eps - x0 : x0;
      }
    }
}

void ReferenceOps::flow_velocity(const Tensor& velocity, const Tensor& x, const Tensor& prediction,
                                 int64_t channels, double divisor) const {
  for (int64_t t = 0; t < x.rows(); ++t)
    for (int64_t c = 0; c < x.row_size(); ++c) {
      const double predicted = row(prediction, t)[patch_out(c, channels, x.row_size())];
      row(velocity, t)[c] = divisor > 0 ? (row(x, t)[c] - predicted) / divisor : predicted;
    }
}

void ReferenceOps::guided_step(const Tensor& x, const Tensor& conditional, const Tensor& unconditional,
                               double guidance, double step) const {
  for (int64_t t = 0; t < x.rows(); ++t)
    for (int64_t c = 0; c < x.row_size(); ++c) {
      const double u = row(unconditional, t)[c];
      row(x, t)[c] += step * (u + guidance * (row(conditional, t)[c] - u));
    }
}

}  // namespace zoetrope::test
