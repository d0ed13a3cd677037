#include "model/parallel_hooks.h"

#include "core/arena.h"

namespace zoetrope {
namespace {

/// Every sample attends to its own rows. Throws when tokens of a sample are missing here.
std::vector<AttentionItem> whole_samples(const MicroBatch& batch) {
  std::vector<AttentionItem> items;
  for (const SampleRows& sample : sample_rows(batch)) {
    const Segment& segment = batch.segments[size_t(sample.first_segment)];
    ZT_CHECK(sample.end - sample.begin == segment.sample_tokens, "local attention: sample ", segment.sample,
             " has ", segment.sample_tokens, " tokens, of which ", sample.end - sample.begin,
             " are on this rank; split samples need context attention");
    items.push_back({sample.begin, sample.end, sample.begin, sample.end});
  }
  return items;
}

}  // namespace

void LocalAttention::forward(const Tensor& out, const Tensor& lse, const Tensor& q, const Tensor& k,
                             const Tensor& v, const MicroBatch& batch, int64_t, int64_t num_heads,
                             double scale) {
  ops_.attention(out, lse, q, k, v, whole_samples(batch), num_heads, scale, false);
}

void LocalAttention::backward(const Tensor& dq, const Tensor& dk, const Tensor& dv, const Tensor& dout,
                              const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& out,
                              const Tensor& lse, const MicroBatch& batch, int64_t, int64_t num_heads,
                              double scale) {
  const ArenaScope scope(arena_);
  const Tensor delta = arena_.take({q.rows(), num_heads}, lse.dtype());
  ops_.attention_delta(delta, dout, out, num_heads);
  for (const Tensor& gradient : {dq, dk, dv}) ops_.zero(gradient);
  ops_.attention_backward(dq, dk, dv, dout, out, q, k, v, lse, delta, whole_samples(batch), num_heads, scale);
}

std::vector<SampleRows> sample_rows(const MicroBatch& batch) {
  std::vector<SampleRows> samples;
  for (size_t i = 0; i < batch.segments.size(); ++i) {
    const Segment& segment = batch.segments[i];
    const bool joins = i > 0 && batch.segments[i - 1].sample == segment.sample;
    if (!joins) samples.push_back({int64_t(i), segment.row, segment.row});
    ZT_CHECK(segment.row == samples.back().end, "micro-batch: segment ", i, " starts at row ", segment.row,
             ", expected ", samples.back().end);
    samples.back().end += segment.num_tokens();
  }
  return samples;
}

}  // namespace zoetrope
