// Products, norms, pointwise operators in double. Attention, loss and flow: reference_ops_flow.cpp.
#include "tests/support/reference_ops.h"

#include <cmath>
#include <numbers>

namespace zoetrope::test {
namespace {

double* row(const Tensor& x, int64_t t) { return x.row<double>(t); }
const int32_t* ids(const Tensor& segment) { return segment.data<int32_t>(); }

void same_shape(const char* op, const Tensor& a, const Tensor& b) {
  ZT_CHECK(a.rows() == b.rows() && a.row_size() == b.row_size(), op, ": ", a.shape_text(), " against ",
           b.shape_text());
}

/// d LN(x) / dx applied to `dnormal` (the gradient of the normalised row), added to `dx`.
void add_layer_norm_gradient(double* dx, const std::vector<double>& dnormal, const double* x,
                             const double* stats) {
  const int64_t D = int64_t(dnormal.size());
  double mean = 0, projected = 0;
  for (int64_t c = 0; c < D; ++c) {
    mean += dnormal[size_t(c)] / double(D);
    projected += dnormal[size_t(c)] * (x[c] - stats[0]) * stats[1] / double(D);
  }
  for (int64_t c = 0; c < D; ++c)
    dx[c] += stats[1] * (dnormal[size_t(c)] - mean - (x[c] - stats[0]) * stats[1] * projected);
}

void layer_norm_statistics(double* stats, const double* x, int64_t D, double eps) {
  double mean = 0, variance = 0;
  for (int64_t c = 0; c < D; ++c) mean += x[c] / double(D);
  for (int64_t c = 0; c < D; ++c) variance += (x[c] - mean) * (x[c] - mean) / double(D);
  stats[0] = mean;
  stats[1] = 1 / std::sqrt(variance + eps);
}

/// Turns adjacent pairs of every head by the row's angles; `direction` -1 turns back.
void rotate(std::vector<double>& values, const Tensor& rotation, int64_t t, int64_t num_heads,
            double direction) {
  if (!rotation.defined()) return;
  const int64_t K = int64_t(values.size()) / num_heads;
  ZT_CHECK(rotation.row_size() == K, "rotation ", rotation.shape_text(), " for head width ", K);
  for (size_t i = 0; i < values.size(); i += 2) {
    const double* angle = row(rotation, t) + int64_t(i) % K;
    const double a = values[i], b = values[i + 1], sine = direction * angle[1];
    values[i] = a * angle[0] - b * sine;
    values[i + 1] = a * sine + b * angle[0];
  }
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double gelu_argument(double x) { return std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x); }

double activated(double x, Activation activation) {
  if (activation == Activation::kSilu) return x * sigmoid(x);
  if (activation == Activation::kGelu) return 0.5 * x * (1 + std::tanh(gelu_argument(x)));
  return x;
}
double slope(double x, Activation activation) {
  if (activation == Activation::kSilu) return sigmoid(x) * (1 + x * (1 - sigmoid(x)));
  if (activation == Activation::kNone) return 1;
  const double th = std::tanh(gelu_argument(x));
  return 0.5 * (1 + th) +
         0.5 * x * (1 - th * th) * std::sqrt(2 / std::numbers::pi) * (1 + 3 * 0.044715 * x * x);
}

}  // namespace

void ReferenceOps::reserve_prepared(Weight&, DType) const {}
int64_t ReferenceOps::prepared_bytes(int64_t, int64_t, DType) const { return 0; }
void ReferenceOps::prepare(const Weight&, DType) const {}

void ReferenceOps::linear(const Tensor& y, const Tensor& x, const Weight& weight, const Tensor& bias) const {
  const Tensor& w = weight.value;
  ZT_CHECK(y.rows() == x.rows() && y.row_size() == w.rows() && x.row_size() == w.row_size(), "linear: y ",
           y.shape_text(), " x ", x.shape_text(), " weight ", w.shape_text());
  for (int64_t t = 0; t < y.rows(); ++t)
    for (int64_t n = 0; n < y.row_size(); ++n) {
      double sum = bias.defined() ? bias.data<double>()[n] : 0;
      const double *xs = row(x, t), *ws = row(w, n);
      for (int64_t k = 0, K = x.row_size(); k < K; ++k) sum += xs[k] * ws[k];
      row(y, t)[n] = sum;
    }
}

void ReferenceOps::linear_backward_input(const Tensor& dx, const Tensor& dy, const Weight& weight) const {
  const Tensor& w = weight.value;
  ZT_CHECK(dx.rows() == dy.rows() && dy.row_size() == w.rows() && dx.row_size() == w.row_size(),
           "linear_backward_input: dx ", dx.shape_text(), " dy ", dy.shape_text(), " weight ",
           w.shape_text());
  const int64_t N = dy.row_size(), stride = w.row_stride();
  for (int64_t t = 0; t < dx.rows(); ++t)
    for (int64_t k = 0; k < dx.row_size(); ++k) {
      double sum = 0;
      const double *ds = row(dy, t), *ws = row(w, 0) + k;
      for (int64_t n = 0; n < N; ++n) sum += ds[n] * ws[n * stride];
      row(dx, t)[k] = sum;
    }
}

void ReferenceOps::linear_backward_weight(const Tensor& dweight, const Tensor& dbias, const Tensor& dy,
                                          const Tensor& x) const {
  ZT_CHECK(dweight.rows() == dy.row_size() && dweight.row_size() == x.row_size() && dy.rows() == x.rows(),
           "linear_backward_weight: dweight ", dweight.shape_text(), " dy ", dy.shape_text(), " x ",
           x.shape_text());
  for (int64_t t = 0; t < dy.rows(); ++t)
    for (int64_t n = 0; n < dy.row_size(); ++n) {
      const double d = row(dy, t)[n], *xs = row(x, t);
      double* sums = row(dweight, n);
      if (dbias.defined()) dbias.data<double>()[n] += d;
      for (int64_t k = 0, K = x.row_size(); k < K; ++k) sums[k] += d * xs[k];
    }
}

void ReferenceOps::layer_norm_modulate(const Tensor& y, const Tensor& stats, const Tensor& x,
                                       const Tensor& shift, const Tensor& scale, const Tensor& segment,
                                       double eps) const {
  same_shape("layer_norm_modulate", y, x);
  for (int64_t t = 0; t < x.rows(); ++t) {
    double* s = row(stats, t);
    layer_norm_statistics(s, row(x, t), x.row_size(), eps);
    const int64_t id = ids(segment)[t];
    for (int64_t c = 0; c < x.row_size(); ++c)
      row(y, t)[c] = (row(x, t)[c] - s[0]) * s[1] * (1 + row(scale, id)[c]) + row(shift, id)[c];
  }
}

void ReferenceOps::layer_norm_modulate_backward(const Tensor& dx, const Tensor& dshift, const Tensor& dscale,
                                                const Tensor& dy, const Tensor& x, const Tensor& stats,
                                                const Tensor& scale, const Tensor& segment) const {
  same_shape("layer_norm_modulate_backward", dy, x);
  std::vector<double> dnormal(size_t(x.row_size()));
  for (int64_t t = 0; t < x.rows(); ++t) {
    const double* s = row(stats, t);
    const int64_t id = ids(segment)[t];
    for (int64_t c = 0; c < x.row_size(); ++c) {
      const double d = row(dy, t)[c];
      row(dshift, id)[c] += d;
      row(dscale, id)[c] += d * (row(x, t)[c] - s[0]) * s[1];
      dnormal[size_t(c)] = d * (1 + row(scale, id)[c]);
    }
    add_layer_norm_gradient(row(dx, t), dnormal, row(x, t), s);
  }
}

void ReferenceOps::layer_norm(const Tensor& y, const Tensor& stats, const Tensor& x, const Tensor& weight,
                              const Tensor& bias, double eps) const {
  same_shape("layer_norm", y, x);
  for (int64_t t = 0; t < x.rows(); ++t) {
    double* s = row(stats, t);
    layer_norm_statistics(s, row(x, t), x.row_size(), eps);
    for (int64_t c = 0; c < x.row_size(); ++c)
      row(y, t)[c] = (row(x, t)[c] - s[0]) * s[1] * weight.data<double>()[c] + bias.data<double>()[c];
  }
}

void ReferenceOps::layer_norm_backward(const Tensor& dx, const Tensor& dweight, const Tensor& dbias,
                                       const Tensor& dy, const Tensor& x, const Tensor& stats,
                                       const Tensor& weight) const {
  same_shape("layer_norm_backward", dy, x);
  std::vector<double> dnormal(size_t(x.row_size()));
  for (int64_t t = 0; t < x.rows(); ++t) {
    const double* s = row(stats, t);
    for (int64_t c = 0; c < x.row_size(); ++c) {
      const double d = row(dy, t)[c];
      dbias.data<double>()[c] += d;
      dweight.data<double>()[c] += d * (row(x, t)[c] - s[0]) * s[1];
      dnormal[size_t(c)] = d * weight.data<double>()[c];
    }
    add_layer_norm_gradient(row(dx, t), dnormal, row(x, t), s);
  }
}

void ReferenceOps::rms_norm_rope(const Tensor& y, const Tensor& rstd, const Tensor& x, const Tensor& weight,
                                 const Tensor& rotation, int64_t num_heads, double eps) const {
  same_shape("rms_norm_rope", y, x);
  const int64_t D = x.row_size();
  std::vector<double> values(static_cast<size_t>(D));
  for (int64_t t = 0; t < x.rows(); ++t) {
    double squares = 0;
    for (int64_t c = 0; c < D; ++c) squares += row(x, t)[c] * row(x, t)[c] / double(D);
    const double r = rstd.data<double>()[t] = 1 / std::sqrt(squares + eps);
    for (int64_t c = 0; c < D; ++c) values[size_t(c)] = row(x, t)[c] * r * weight.data<double>()[c];
    rotate(values, rotation, t, num_heads, 1);
    for (int64_t c = 0; c < D; ++c) row(y, t)[c] = values[size_t(c)];
  }
}

void ReferenceOps::rms_norm_rope_backward(const Tensor& dx, const Tensor& dweight, const Tensor& dy,
                                          const Tensor& x, const Tensor& rstd, const Tensor& weight,
                                          const Tensor& rotation, int64_t num_heads) const {
  same_shape("rms_norm_rope_backward", dy, x);
  const int64_t D = x.row_size();
  std::vector<double> values(static_cast<size_t>(D));
  for (int64_t t = 0; t < x.rows(); ++t) {
    for (int64_t c = 0; c < D; ++c) values[size_t(c)] = row(dy, t)[c];
    rotate(values, rotation, t, num_heads, -1);
    const double r = rstd.data<double>()[t];
    double projected = 0;
    for (int64_t c = 0; c < D; ++c) {
      dweight.data<double>()[c] += values[size_t(c)] * row(x, t)[c] * r;
      values[size_t(c)] *= weight.data<double>()[c];
      projected += values[size_t(c)] * row(x, t)[c] * r / double(D);
    }
    for (int64_t c = 0; c < D; ++c) row(dx, t)[c] = r * (values[size_t(c)] - row(x, t)[c] * r * projected);
  }
}

void ReferenceOps::activate(const Tensor& y, const Tensor& x, Activation activation) const {
  same_shape("activate", y, x);
  for (int64_t t = 0; t < x.rows(); ++t)
    for (int64_t c = 0; c < x.row_size(); ++c) row(y, t)[c] = activated(row(x, t)[c], activation);
}

void ReferenceOps::activate_backward(const Tensor& dx, const Tensor& dy, const Tensor& x,
                                     Activation activation) const {
  same_shape("activate_backward", dx, x);
  for (int64_t t = 0; t < x.rows(); ++t)
    for (int64_t c = 0; c < x.row_size(); ++c)
      row(dx, t)[c] = row(dy, t)[c] * slope(row(x, t)[c], activation);
}

void ReferenceOps::gate_residual(const Tensor& y, const Tensor& x, const Tensor& branch, const Tensor& gate,
                                 const Tensor& segment) const {
  same_shape("gate_residual", y, x);
  for (int64_t t = 0; t < x.rows(); ++t)
    for (int64_t c = 0; c < x.row_size(); ++c)
      row(y, t)[c] = row(x, t)[c] + (gate.defined() ? row(gate, ids(segment)[t])[c] : 1) * row(branch, t)[c];
}

void ReferenceOps::gate_residual_backward(const Tensor& dbranch, const Tensor& dgate, const Tensor& dy,
                                          const Tensor& branch, const Tensor& gate,
                                          const Tensor& segment) const {
  same_shape("gate_residual_backward", dbranch, dy);
  for (int64_t t = 0; t < dy.rows(); ++t)
    for (int64_t c = 0; c < dy.row_size(); ++c) {
      if (gate.defined()) row(dgate, ids(segment)[t])[c] += row(branch, t)[c] * row(dy, t)[c];
      row(dbranch, t)[c] = (gate.defined() ? row(gate, ids(segment)[t])[c] : 1) * row(dy, t)[c];
    }
}

void ReferenceOps::convert(const Tensor& y, const Tensor& x) const { copy(y, x); }

void ReferenceOps::add(const Tensor& y, const Tensor& x) const {
  same_shape("add", y, x);
  for (int64_t t = 0; t < x.rows(); ++t)
    for (int64_t c = 0; c < x.row_size(); ++c) row(y, t)[c] += row(x, t)[c];
}

void ReferenceOps::add_row(const Tensor& y, const Tensor& x, const Tensor& added) const {
  same_shape("add_row", y, x);
  for (int64_t s = 0; s < x.rows(); ++s)
    for (int64_t c = 0; c < x.row_size(); ++c) row(y, s)[c] = row(x, s)[c] + added.data<double>()[c];
}

void ReferenceOps::add_row_backward(const Tensor& drow, const Tensor& dy) const {
  for (int64_t s = 0; s < dy.rows(); ++s)
    for (int64_t c = 0; c < dy.row_size(); ++c) drow.data<double>()[c] += row(dy, s)[c];
}

}  // namespace zoetrope::test
