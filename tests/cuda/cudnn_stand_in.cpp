#include "tests/cuda/cudnn_stand_in.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <vector>

#include "core/check.h"
#include "core/cuda_check.h"
#include "core/dtype.h"
#include "model/ops/cuda/cudnn_attention.h"

namespace zoetrope {
namespace test {
CudnnStandIn& cudnn_stand_in() {
  static CudnnStandIn stand_in;
  return stand_in;
}
}  // namespace test

namespace cudnn {
namespace {

std::mutex counting;

std::vector<TensorId> expected_ids(Pass pass, const AttentionShape& shape, Bits bits) {
  using enum TensorId;
  std::vector<TensorId> ids = {kQ,        kK,         kV,        kOut,      kLse,      kScale,
                               kQLengths, kKvLengths, kQOffsets, kKOffsets, kVOffsets, kOutOffsets};
  if (shape.lse == LseLayout::kPacked) ids.push_back(kLseOffsets);
  if (pass == Pass::kForward) return ids;
  ids.insert(ids.end(),
             {kDout, kDq, kDk, kDv, kDoutOffsets, kDqOffsets, kDkvOffsets, kDelta, kOne, kMinusInfinity});
  if (bits == Bits::kAny) ids.push_back(kDqSum);
  return ids;
}

}  // namespace

namespace {
struct PlanParts {
  Pass pass = Pass::kForward;
  AttentionShape shape;
  Bits bits = Bits::kAny;
  int64_t workspace_bytes = 0;
};
}  // namespace
struct AttentionPlan::Parts {
  PlanParts of;
};
AttentionPlan::AttentionPlan() : parts_(std::make_unique<Parts>()) {}
AttentionPlan::~AttentionPlan() = default;
int64_t AttentionPlan::workspace_bytes() const { return parts_->of.workspace_bytes; }
void* AttentionPlan::handle() const { return &parts_->of; }

std::shared_ptr<const AttentionPlan> AttentionPlan::build(Pass pass, const AttentionShape& shape,
                                                          const DeviceProperties&, Bits bits,
                                                          int64_t most_workspace_bytes) {
  const test::CudnnStandIn& options = test::cudnn_stand_in();
  ZT_CHECK(pass == Pass::kForward || bits == Bits::kAny || options.reproducible_backward,
           "the stand-in has no reproducible backward pass");
  ZT_CHECK(options.workspace_bytes <= most_workspace_bytes, "the stand-in wants ", options.workspace_bytes,
           " bytes of work space, of ", most_workspace_bytes);
  ZT_CHECK(bucketed(shape) == shape, "a plan for ", text_of(shape));
  auto plan = std::make_shared<AttentionPlan>();
  plan->parts_->of = {pass, shape, bits, options.workspace_bytes};
  const std::lock_guard lock(counting);
  ++test::cudnn_stand_in().built;
  return plan;
}

LseLayout lse_layout(const DeviceProperties&) {
  return test::cudnn_stand_in().padded_lse ? LseLayout::kPadded : LseLayout::kPacked;
}

namespace {

/// A started plan, until the stream comes to it.
struct Started {
  Pass pass;
  AttentionShape s;
  Bits bits;
  std::map<TensorId, char*> places;
  float scale = 0;
  char* workspace = nullptr;
  int64_t workspace_bytes = 0;

  template <class T>
  T* at(TensorId id) const {
    return reinterpret_cast<T*>(places.at(id));
  }
  /// Row `i` of sample b in head h.
  bf16* row(TensorId id, TensorId offsets, int64_t stride, int64_t b, int64_t h, int64_t i) const {
    return at<bf16>(id) + at<int64_t>(offsets)[b] + i * stride + h * s.head_width;
  }
  float& lse(int64_t b, int64_t h, int64_t i) const {
    float* all = at<float>(TensorId::kLse);
    if (s.lse == LseLayout::kPadded) return all[(b * s.num_heads + h) * s.q_rows + i];
    return all[at<int64_t>(TensorId::kLseOffsets)[b] + i * s.num_heads + h];
  }
  float dot(const bf16* a, const bf16* b) const {
    float sum = 0;
    for (int64_t c = 0; c < s.head_width; ++c) sum += float(a[c]) * float(b[c]);
    return sum;
  }
  /// Scaled scores of a query.
  std::vector<float> scores(int64_t b, int64_t h, int64_t i, int64_t keys) const {
    using enum TensorId;
    std::vector<float> all;
    const bf16* q = row(kQ, kQOffsets, s.q_stride, b, h, i);
    for (int64_t j = 0; j < keys; ++j) all.push_back(scale * dot(q, row(kK, kKOffsets, s.k_stride, b, h, j)));
    return all;
  }
  void check_lengths() const;
  void forward(int64_t b, int64_t h, int64_t rows, int64_t keys) const;
  void backward(int64_t b, int64_t h, int64_t rows, int64_t keys) const;
  void run() const;
};

void Started::check_lengths() const {
  for (int64_t b = 0; b < s.batch; ++b) {
    const int32_t rows = at<int32_t>(TensorId::kQLengths)[b], keys = at<int32_t>(TensorId::kKvLengths)[b];
    ZT_CHECK(0 < rows && rows <= s.q_rows && 0 < keys && keys <= s.kv_rows, "sample ", b, " of ", rows, " x ",
             keys, " rows in a plan for ", text_of(s));
  }
  const auto end = [&](TensorId offsets, TensorId lengths, int64_t stride) {
    if (!places.contains(offsets)) return;
    const int64_t* starts = at<int64_t>(offsets);
    ZT_CHECK(starts[s.batch] == starts[s.batch - 1] + at<int32_t>(lengths)[s.batch - 1] * stride, "offsets ",
             int64_t(offsets), " end at ", starts[s.batch]);
  };
  using enum TensorId;
  const int64_t width = s.num_heads * s.head_width;
  end(kQOffsets, kQLengths, s.q_stride);
  end(kKOffsets, kKvLengths, s.k_stride);
  end(kVOffsets, kKvLengths, s.v_stride);
  end(kOutOffsets, kQLengths, s.out_stride);
  end(kLseOffsets, kQLengths, s.num_heads);
  end(kDoutOffsets, kQLengths, s.dout_stride);
  end(kDqOffsets, kQLengths, width);
  end(kDkvOffsets, kKvLengths, width);
}

void Started::forward(int64_t b, int64_t h, int64_t rows, int64_t keys) const {
  using enum TensorId;
  for (int64_t i = 0; i < rows; ++i) {
    std::vector<float> p = scores(b, h, i, keys);
    const float top = *std::max_element(p.begin(), p.end());
    float total = 0;
    for (float& each : p) total += each = std::exp(each - top);
    std::vector<float> sum(size_t(s.head_width), 0.0f);
    for (int64_t j = 0; j < keys; ++j) {
      const bf16* v = row(kV, kVOffsets, s.v_stride, b, h, j);
      for (int64_t c = 0; c < s.head_width; ++c) sum[size_t(c)] += p[size_t(j)] * float(v[c]);
    }
    bf16* out = row(kOut, kOutOffsets, s.out_stride, b, h, i);
    for (int64_t c = 0; c < s.head_width; ++c) out[c] = bf16(sum[size_t(c)] / total);
    lse(b, h, i) = top + std::log(total);
  }
}

void Started::backward(int64_t b, int64_t h, int64_t rows, int64_t keys) const {
  using enum TensorId;
  const int64_t K = s.head_width, width = s.num_heads * K;
  std::vector<float> dk(size_t(keys * K), 0.0f), dv = dk;
  for (int64_t i = 0; i < rows; ++i) {
    const bf16 *dout = row(kDout, kDoutOffsets, s.dout_stride, b, h, i),
               *q = row(kQ, kQOffsets, s.q_stride, b, h, i);
    const float delta = dot(dout, row(kOut, kOutOffsets, s.out_stride, b, h, i));
    const std::vector<float> all = scores(b, h, i, keys);
    std::vector<float> dq(size_t(K), 0.0f);
    for (int64_t j = 0; j < keys; ++j) {
      const bf16* k = row(kK, kKOffsets, s.k_stride, b, h, j);
      const float p = std::exp(all[size_t(j)] - lse(b, h, i));
      const float ds = p * (dot(dout, row(kV, kVOffsets, s.v_stride, b, h, j)) - delta) * scale;
      for (int64_t c = 0; c < K; ++c) {
        dq[size_t(c)] += ds * float(k[c]);
        dk[size_t(j * K + c)] += ds * float(q[c]);
        dv[size_t(j * K + c)] += p * float(dout[c]);
      }
    }
    bf16* to = row(kDq, kDqOffsets, width, b, h, i);
    for (int64_t c = 0; c < K; ++c) to[c] = bf16(dq[size_t(c)]);
  }
  for (int64_t j = 0; j < keys; ++j)
    for (int64_t c = 0; c < K; ++c) {
      row(kDk, kDkvOffsets, width, b, h, j)[c] = bf16(dk[size_t(j * K + c)]);
      row(kDv, kDkvOffsets, width, b, h, j)[c] = bf16(dv[size_t(j * K + c)]);
    }
}

void Started::run() const {
  check_lengths();
  const auto spoil = [](auto* memory, int64_t bytes) {
    std::fill_n(reinterpret_cast<uint8_t*>(memory), bytes, uint8_t(0xff));
  };
  spoil(workspace, workspace_bytes);
  const int64_t padded = s.batch * s.num_heads * s.q_rows * int64_t(sizeof(float));
  if (pass == Pass::kBackward) spoil(at<float>(TensorId::kDelta), padded);
  if (pass == Pass::kBackward && bits == Bits::kAny)
    spoil(at<float>(TensorId::kDqSum), padded * s.head_width);
  for (int64_t b = 0; b < s.batch; ++b)
    for (int64_t h = 0; h < s.num_heads; ++h) {
      const int64_t rows = at<int32_t>(TensorId::kQLengths)[b], keys = at<int32_t>(TensorId::kKvLengths)[b];
      if (pass == Pass::kForward) forward(b, h, rows, keys);
      else backward(b, h, rows, keys);
    }
}

}  // namespace

struct Runner::Parts {
  cudaStream_t stream;
  DeviceProperties device;
};
Runner::Runner(void* stream)
    : parts_(std::make_unique<Parts>(Parts{static_cast<cudaStream_t>(stream), {"stand-in"}})) {}
Runner::~Runner() = default;
const DeviceProperties& Runner::device() const { return parts_->device; }

void Runner::run(const std::shared_ptr<const AttentionPlan>& plan, std::span<const PlacedTensor> tensors,
                 void* workspace) {
  const auto& parts = *static_cast<const PlanParts*>(plan->handle());
  auto started = std::make_unique<Started>();
  started->pass = parts.pass, started->s = parts.shape, started->bits = parts.bits;
  started->workspace = static_cast<char*>(workspace), started->workspace_bytes = parts.workspace_bytes;
  for (const PlacedTensor& each : tensors) {
    ZT_CHECK(reinterpret_cast<uintptr_t>(each.data) % 4 == 0, "tensor ", int64_t(each.id), " lies askew");
    ZT_CHECK(started->places.emplace(each.id, static_cast<char*>(const_cast<void*>(each.data))).second,
             "tensor ", int64_t(each.id), " given twice");
  }
  const std::vector<TensorId> expected = expected_ids(parts.pass, parts.shape, parts.bits);
  ZT_CHECK(expected.size() == tensors.size(), tensors.size(), " tensors given, ", expected.size(),
           " expected");
  for (const TensorId id : expected)
    ZT_CHECK(started->places.contains(id), "tensor ", int64_t(id), " is missing");
  started->scale = *started->at<float>(TensorId::kScale);
  if (parts.pass == Pass::kBackward)
    ZT_CHECK(*started->at<float>(TensorId::kOne) == 1 &&
                 *started->at<float>(TensorId::kMinusInfinity) == -std::numeric_limits<float>::infinity(),
             "wrong constants");
  {
    const std::lock_guard lock(counting);
    auto& counts = test::cudnn_stand_in();
    ++(parts.pass == Pass::kForward ? counts.forward_runs : counts.backward_runs);
  }
  ZT_CUDA(cudaLaunchHostFunc(
      parts_->stream, [](void* work) { std::unique_ptr<Started>(static_cast<Started*>(work))->run(); },
      started.release()));
}

}  // namespace cudnn
}  // namespace zoetrope
