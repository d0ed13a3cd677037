// Softmax attention without a stored score matrix: a task holds up to kChunk queries of one head and walks
// over blocks of keys, keeping each query's running maximum, sum and output.
#include <algorithm>
#include <limits>

#include "model/ops/cpu/attention_common.h"
#include "model/ops/cpu/cpu_ops.h"
#include "model/ops/cpu/tiles.h"

namespace zoetrope {
namespace {

using namespace cpu;
using simd::F16;
using simd::load;
using simd::store;

constexpr int64_t kVectors = kQueries / simd::kLanes;

/// Work space of one thread; E is the element type of block products.
template <class E>
struct ForwardSpace {
  ForwardSpace(Space space, int64_t K)
      : width(padded_extent<E>(K)),
        queries(space.take<E>(kChunk * width)),
        keys(space.take<E>(kKeys * width)),
        values(space.take<E>(kKeys * width)),
        stage(space.take<E>(std::max(kKeys, kQueries) * width)),
        pairs(space.take<E>(kKeys * width)),
        scores(space.take<float>(kKeys * kQueries)),
        weights(space.take<E>(std::is_same_v<E, bf16> ? kKeys * kQueries : 0)),
        out(space.take<float>(kChunk * width)),
        rows(space.take<float>(kQueries * width)),
        top(space.take<float>(kChunk)),
        total(space.take<float>(kChunk)),
        bytes(space.used()) {}
  int64_t width;                               // K with zeros behind
  E *queries, *keys, *values, *stage, *pairs;  // queries [width, 64] per block; values [width, keys]
  float* scores;                               // [keys, 64]
  E* weights;                                  // bf16: probabilities as pairs of keys
  float *out, *rows, *top, *total;             // out [width, 64] per block
  int64_t bytes;
};

/// Probabilities of one block of scores in place (f32) or as pairs (bf16), with the running maximum and sum
/// of each query renewed; returns false when no maximum rose, so that outputs need no rescaling by `shrink`.
template <class E>
bool soften(float* scores, E* weights, int64_t count, int64_t padded, float* top, float* total, float* shrink,
            float scale2) {
  constexpr int kDegree = std::is_same_v<E, bf16> ? 4 : 6;
  F16 most[kVectors], sum[kVectors], offset[kVectors];
  bool rose = false;
  for (int j = 0; j < kVectors; ++j) most[j] = load(top + 16 * j);
  for (int64_t s = 0; s < count; ++s)
    for (int j = 0; j < kVectors; ++j) most[j] = simd::max(load(scores + s * kQueries + 16 * j), most[j]);
  for (int j = 0; j < kVectors; ++j) {
    const F16 old = load(top + 16 * j);
    offset[j] = (most[j] == kMinusInfinity ? simd::splat(0.0f) : most[j]) * scale2;
    const F16 factor = simd::exp2<6>(old * scale2 - offset[j]);
    store(shrink + 16 * j, factor);
    sum[j] = load(total + 16 * j) * factor;
    const auto changed = most[j] != old;
    for (int lane = 0; lane < 16; ++lane) rose |= changed[lane] != 0;
    store(top + 16 * j, most[j]);
  }
  if constexpr (std::is_same_v<E, bf16>) {
    for (int64_t s = count; s < padded; ++s) std::memset(scores + s * kQueries, 0, kQueries * sizeof(float));
    for (int64_t s = 0; s < padded; s += 2)
      for (int j = 0; j < kVectors; ++j) {
        F16 even = simd::exp2<kDegree>(load(scores + s * kQueries + 16 * j) * scale2 - offset[j]);
        F16 odd = simd::exp2<kDegree>(load(scores + (s + 1) * kQueries + 16 * j) * scale2 - offset[j]);
        if (s >= count) even = F16{};
        if (s + 1 >= count) odd = F16{};
        sum[j] += even + odd;
        pair_two_rows(weights + s * kQueries + 32 * j, even, odd);
      }
  } else {
    for (int64_t s = 0; s < count; ++s)
      for (int j = 0; j < kVectors; ++j) {
        const F16 p = simd::exp2<kDegree>(load(scores + s * kQueries + 16 * j) * scale2 - offset[j]);
        sum[j] += p;
        store(scores + s * kQueries + 16 * j, p);
      }
  }
  for (int j = 0; j < kVectors; ++j) store(total + 16 * j, sum[j]);
  return rose;
}

/// Query blocks against keys [begin, begin + count) of one head, packed in `w`.
template <class E>
void attend_keys(const ForwardSpace<E>& w, int64_t num_blocks, int64_t count, int64_t K, float scale2) {
  // f32 products take any number of rows; bf16 ones reduce 32 at a time, over zeros.
  constexpr bool kPairs = std::is_same_v<E, bf16>;
  const int64_t padded = padded_extent<E>(count), rows = kPairs ? padded : count,
                depth = kPairs ? w.width : K;
  for (int64_t b = 0; b < num_blocks; ++b) {
    float* out = w.out + b * kQueries * w.width;
    float shrink[kQueries];
    block_product(w.scores, kQueries, w.keys, w.width, w.queries + b * kQueries * w.width, kQueries, rows,
                  kQueries, depth, false);
    if (soften(w.scores, w.weights, count, padded, w.top + b * kQueries, w.total + b * kQueries, shrink,
               scale2))
      for (int64_t c = 0; c < K; ++c)
        for (int j = 0; j < kVectors; ++j)
          store(out + c * kQueries + 16 * j, load(out + c * kQueries + 16 * j) * load(shrink + 16 * j));
    if constexpr (kPairs)
      block_product(out, kQueries, w.values, padded, w.weights, kQueries, w.width, kQueries, padded, true);
    else block_product(out, kQueries, w.values, padded, w.scores, kQueries, K, kQueries, count, true);
  }
}

template <class C, class O>
struct Forward {
  using E = BlockElement<C>;
  const Tensor &out, &lse, &q, &k, &v;
  int64_t K;
  float scale;
  bool accumulate;
  const std::function<void()>& progress;

  void run(const AttentionTask& task, void* space, bool report) const {
    const ForwardSpace<E> w(Space(space), K);
    const int64_t count = task.end - task.begin, blocks = (count + kQueries - 1) / kQueries;
    for (int64_t b = 0; b < blocks; ++b) {
      const int64_t begin = task.begin + b * kQueries;
      pack_rows(w.stage, kQueries, w.width, q.row<C>(begin) + task.head * K, q.row_stride(),
                std::min(kQueries, task.end - begin), K);
      pack_transposed(w.queries + b * kQueries * w.width, w.stage, kQueries, w.width);
    }
    std::fill_n(w.out, blocks * kQueries * w.width, 0.0f);
    std::fill_n(w.top, blocks * kQueries, kMinusInfinity);
    std::fill_n(w.total, blocks * kQueries, 0.0f);
    for (int64_t s = task.item->kv_begin; s < task.item->kv_end; s += kKeys) {
      if (report) progress();
      const int64_t keys = std::min(kKeys, task.item->kv_end - s), padded = padded_extent<E>(keys);
      pack_rows(w.keys, padded, w.width, k.row<C>(s) + task.head * K, k.row_stride(), keys, K);
      pack_rows(w.stage, padded, w.width, v.row<C>(s) + task.head * K, v.row_stride(), keys, K);
      transpose(w.values, w.stage, padded, w.width, w.pairs);
      attend_keys<E>(w, blocks, keys, K, float(double(scale) * kLog2e));
    }
    for (int64_t b = 0; b < blocks; ++b) finish(task, w, b);
  }

  /// Divides by the sums, turns the block's output back to rows and writes or merges it.
  void finish(const AttentionTask& task, const ForwardSpace<E>& w, int64_t b) const {
    transpose_words(reinterpret_cast<uint32_t*>(w.rows), w.width,
                    reinterpret_cast<const uint32_t*>(w.out + b * kQueries * w.width), kQueries, w.width,
                    kQueries);
    const int64_t begin = task.begin + b * kQueries, count = std::min(kQueries, task.end - begin);
    for (int64_t i = 0; i < count; ++i) {
      const float total = w.total[b * kQueries + i], top = w.top[b * kQueries + i];
      const float inverse = total == 0 ? 0.0f : 1.0f / total;
      const float row_lse = total == 0 ? kMinusInfinity : top * scale + std::log(total);
      float* row = w.rows + i * w.width;
      simd::for_lanes(K, [&](int64_t c, int64_t n) { store(row + c, load(row + c, n) * inverse, n); });
      put_row(out.row<O>(begin + i) + task.head * K, lse.row<float>(begin + i)[task.head], row, row_lse, K,
              accumulate);
    }
  }
};

}  // namespace

void cpu::merge_row(float* out, float& lse, const float* added, float added_lse, int64_t width) {
  if (added_lse == kMinusInfinity) return;
  const float top = added_lse > lse ? added_lse : lse;
  const float old_weight = std::exp(lse - top), new_weight = std::exp(added_lse - top);
  const float total = old_weight + new_weight;
  const float keep = old_weight / total, take = new_weight / total;
  simd::for_lanes(width, [&](int64_t i, int64_t n) {
    store(out + i, keep * load(out + i, n) + take * load(added + i, n), n);
  });
  lse = top + std::log(total);
}

std::vector<AttentionTask> cpu::cut(const AttentionCall& call, int64_t chunk) {
  std::vector<AttentionTask> tasks;
  for (const AttentionItem& item : call.items)
    for (int64_t head = 0; head < call.num_heads; ++head)
      for (int64_t begin = item.q_begin; begin < item.q_end; begin += chunk)
        tasks.push_back({&item, head, begin, std::min(item.q_end, begin + chunk)});
  return tasks;
}

int64_t cpu::attention_forward_bytes(int64_t head_width, DType compute) {
  const int64_t f32 = ForwardSpace<float>(Space(nullptr), head_width).bytes;
  if (compute == DType::kF32) return f32;
  return std::max({f32, ForwardSpace<BlockElement<bf16>>(Space(nullptr), head_width).bytes,
                   attention_tiles_bytes(head_width)});
}

void cpu::attention_by_blocks(const AttentionCall& call, const Tensor& out, const Tensor& lse,
                              bool accumulate) {
  const std::vector<AttentionTask> tasks = cut(call, kChunk);
  const ArenaScope scope(call.workspace);
  const Tensor space = call.workspace.take(
      {call.pool.num_threads(), attention_forward_bytes(call.head_width, call.q.dtype())}, DType::kU8);
  dispatch(call.q.dtype(), [&]<class C>(C) {
    dispatch(out.dtype(), [&]<class O>(O) {
      const Forward<C, O> forward{out,        lse,        call.q,       call.k, call.v, call.head_width,
                                  call.scale, accumulate, call.progress};
      call.pool.parallel_for_indexed(int64_t(tasks.size()), [&](int64_t i, int thread) {
        forward.run(tasks[size_t(i)], space.row<uint8_t>(thread), thread == 0 && call.progress != nullptr);
      });
    });
  });
}

void CpuOps::attention(const Tensor& out, const Tensor& lse, const Tensor& q, const Tensor& k,
                       const Tensor& v, std::span<const AttentionItem> items, int64_t num_heads, double scale,
                       bool accumulate) const {
  const char* op = "attention";
  const int64_t K = check_attention(op, q, k, v, lse, items, num_heads, scale);
  check_matrix(op, "out", out, q.rows(), q.row_size());
  check_attention_out(op, out, q, accumulate);
  const AttentionCall call{q, k, v, items, num_heads, K, float(scale), pool_, workspace_, progress_};
  if (q.dtype() == DType::kBF16 && has_tiles()) return attention_by_tiles(call, out, lse, accumulate);
  attention_by_blocks(call, out, lse, accumulate);
}

void CpuOps::attention_delta(const Tensor& delta, const Tensor& dout, const Tensor& out,
                             int64_t num_heads) const {
  const char* op = "attention_delta";
  const int64_t T = out.rows(), D = out.row_size();
  check_matrix(op, "out", out, T, D);
  check_matrix(op, "dout", dout, T, D);
  check_heads(op, D, num_heads);
  check_wide(op, "delta", delta, T, num_heads);
  const int64_t K = D / num_heads, ahead_dout = ahead_of(dout), ahead_out = ahead_of(out);
  dispatch(out.dtype(), [&]<class O>(O) {
    dispatch(dout.dtype(), [&]<class G>(G) {
      for_rows(pool_, T, [&](int64_t t) {
        const G* gradient = dout.row<G>(t);
        const O* from = out.row<O>(t);
        for (int64_t h = 0; h < num_heads; ++h) {
          F16 total{};
          simd::for_lanes(K, [&](int64_t i, int64_t n) {
            total += simd::load_ahead(gradient + h * K + i, n, ahead_dout) *
                     simd::load_ahead(from + h * K + i, n, ahead_out);
          });
          delta.row<float>(t)[h] = simd::sum(total);
        }
      });
    });
  });
}

}  // namespace zoetrope
