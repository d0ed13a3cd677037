// Gradients of attention from the saved log-sum-exp: probabilities are computed again, block by block. A task
// is one head of one item, so nobody else adds to its rows of dq, dk and dv: the order of sums is fixed.
#include <algorithm>

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

/// Work space of one thread. Names end with how a product reads them: _t transposed (right operand over the
/// head's columns), _r rows (right operand over queries).
template <class E>
struct BackwardSpace {
  static constexpr int64_t kHalf = std::is_same_v<E, bf16> ? kKeys * kQueries : 0;
  BackwardSpace(Space space, int64_t K)
      : width(padded_extent<E>(K)),
        q_t(space.take<E>(kChunk * width)),
        q_r(space.take<E>(kChunk * width)),
        dout_t(space.take<E>(kChunk * width)),
        dout_r(space.take<E>(kChunk * width)),
        keys(space.take<E>(kKeys * width)),
        keys_t(space.take<E>(kKeys * width)),
        values(space.take<E>(kKeys * width)),
        stage(space.take<E>(kKeys * width)),
        p(space.take<float>(kKeys * kQueries)),
        ds(space.take<float>(kKeys * kQueries)),
        p_half(space.take<E>(kHalf)),
        ds_half(space.take<E>(kHalf)),
        ds_pairs(space.take<E>(kHalf)),
        dq(space.take<float>(kChunk * width)),
        dk(space.take<float>(kKeys * width)),
        dv(space.take<float>(kKeys * width)),
        rows(space.take<float>(kQueries * width)),
        lse2(space.take<float>(kChunk)),
        delta(space.take<float>(kChunk)),
        bytes(space.used()) {}
  int64_t width;
  E *q_t, *q_r, *dout_t, *dout_r;     // per query block: [width, 64] and [64, width]
  E *keys, *keys_t, *values, *stage;  // [keys, width]; keys_t [width, keys]
  float *p, *ds;                      // [keys, 64]
  E *p_half, *ds_half, *ds_pairs;     // bf16 forms of p and ds: rows, rows, pairs of rows
  float *dq, *dk, *dv, *rows;         // dq [width, 64] per query block; dk, dv [keys, width]
  float *lse2, *delta;                // per query: log-sum-exp in base 2, delta
  int64_t bytes;
};

/// Right operand over queries: rows as they are, or pairs of rows.
void pack_right(float* to, const float* rows, int64_t n, int64_t width) {
  std::memcpy(to, rows, size_t(n * width) * sizeof(float));
}
[[maybe_unused]] void pack_right(bf16* to, const bf16* rows, int64_t n, int64_t width) {
  pair_rows(to, rows, n, width);
}

[[maybe_unused]] void store_half(bf16* to, F16 v) { store(to, v); }

/// p = 2^(score - lse), ds = p (dp - delta) scale, from p = scores and ds = dp; rows beyond `count` become 0.
template <class E>
void differentiate(const BackwardSpace<E>& w, int64_t count, int64_t padded, const float* lse2,
                   const float* delta, float scale) {
  constexpr bool kPairs = std::is_same_v<E, bf16>;
  const float scale2 = float(double(scale) * kLog2e);
  const auto one = [&](int64_t at, int j, F16& p, F16& ds) {
    p = simd::exp2 < kPairs ? 4 : 6 > (load(w.p + at) * scale2 - load(lse2 + 16 * j));
    ds = p * (load(w.ds + at) - load(delta + 16 * j)) * scale;
  };
  if constexpr (kPairs) {
    for (int64_t s = 0; s < padded; s += 2)
      for (int j = 0; j < kVectors; ++j) {
        const int64_t at = s * kQueries + 16 * j;
        F16 p[2], ds[2];
        one(at, j, p[0], ds[0]);
        one(at + kQueries, j, p[1], ds[1]);
        for (int i = 0; i < 2; ++i) {
          if (s + i >= count) p[i] = ds[i] = F16{};
          store_half(w.p_half + at + i * kQueries, p[i]);
          store_half(w.ds_half + at + i * kQueries, ds[i]);
        }
        pair_two_rows(w.ds_pairs + s * kQueries + 32 * j, ds[0], ds[1]);
      }
  } else {
    for (int64_t s = 0; s < count; ++s)
      for (int j = 0; j < kVectors; ++j) {
        const int64_t at = s * kQueries + 16 * j;
        F16 p, ds;
        one(at, j, p, ds);
        store(w.p + at, p);
        store(w.ds + at, ds);
      }
  }
}

/// All gradients of query block b against the packed keys.
template <class E>
void backward_block(const BackwardSpace<E>& w, int64_t b, int64_t count, int64_t K, float scale) {
  constexpr bool kPairs = std::is_same_v<E, bf16>;
  const int64_t padded = padded_extent<E>(count), rows = kPairs ? padded : count,
                depth = kPairs ? w.width : K;
  const int64_t at = b * kQueries * w.width;
  block_product(w.p, kQueries, w.keys, w.width, w.q_t + at, kQueries, rows, kQueries, depth, false);
  block_product(w.ds, kQueries, w.values, w.width, w.dout_t + at, kQueries, rows, kQueries, depth, false);
  differentiate(w, count, padded, w.lse2 + b * kQueries, w.delta + b * kQueries, scale);
  const auto finish = [&](const auto* p, const auto* ds, const auto* ds_right) {
    block_product(w.dv, w.width, p, kQueries, w.dout_r + at, w.width, rows, w.width, kQueries, true);
    block_product(w.dk, w.width, ds, kQueries, w.q_r + at, w.width, rows, w.width, kQueries, true);
    block_product(w.dq + at, kQueries, w.keys_t, padded, ds_right, kQueries, depth, kQueries, rows, true);
  };
  if constexpr (kPairs) finish(w.p_half, w.ds_half, w.ds_pairs);
  else finish(w.p, w.ds, w.ds);
}

template <class C>
struct Backward {
  using E = BlockElement<C>;
  const Tensor &dq, &dk, &dv, &dout, &q, &k, &v, &lse, &delta;
  int64_t K;
  float scale;
  const std::function<void()>& progress;

  void run(const AttentionItem& item, int64_t head, void* space, bool report) const {
    const BackwardSpace<E> w(Space(space), K);
    for (int64_t t = item.q_begin; t < item.q_end; t += kChunk) {
      const int64_t end = std::min(item.q_end, t + kChunk), blocks = (end - t + kQueries - 1) / kQueries;
      for (int64_t b = 0; b < blocks; ++b) pack_queries(w, b, t + b * kQueries, end, head);
      std::fill_n(w.dq, blocks * kQueries * w.width, 0.0f);
      for (int64_t s = item.kv_begin; s < item.kv_end; s += kKeys) {
        const int64_t keys = std::min(kKeys, item.kv_end - s);
        pack_keys(w, s, keys, head);
        for (int64_t b = 0; b < blocks; ++b) {
          if (report) progress();
          backward_block<E>(w, b, keys, K, scale);
        }
        add_rows(dk, w.dk, s, keys, head, w.width);
        add_rows(dv, w.dv, s, keys, head, w.width);
      }
      for (int64_t b = 0; b < blocks; ++b) {
        transpose_words(reinterpret_cast<uint32_t*>(w.rows), w.width,
                        reinterpret_cast<const uint32_t*>(w.dq + b * kQueries * w.width), kQueries, w.width,
                        kQueries);
        const int64_t begin = t + b * kQueries;
        add_rows(dq, w.rows, begin, std::min(kQueries, end - begin), head, w.width);
      }
    }
  }

  void pack_queries(const BackwardSpace<E>& w, int64_t b, int64_t begin, int64_t end, int64_t head) const {
    const int64_t count = std::min(kQueries, end - begin), at = b * kQueries * w.width;
    pack_rows(w.stage, kQueries, w.width, q.row<C>(begin) + head * K, q.row_stride(), count, K);
    pack_transposed(w.q_t + at, w.stage, kQueries, w.width);
    pack_right(w.q_r + at, w.stage, kQueries, w.width);
    pack_rows(w.stage, kQueries, w.width, dout.row<C>(begin) + head * K, dout.row_stride(), count, K);
    pack_transposed(w.dout_t + at, w.stage, kQueries, w.width);
    pack_right(w.dout_r + at, w.stage, kQueries, w.width);
    for (int64_t i = 0; i < kQueries; ++i) {
      // Absent queries, and those that met no key (lse -inf), get probability 2^-126 times a zero gradient.
      const float l = i < count ? lse.row<float>(begin + i)[head] : kMinusInfinity;
      w.lse2[b * kQueries + i] =
          l == kMinusInfinity ? std::numeric_limits<float>::infinity() : float(double(l) * kLog2e);
      w.delta[b * kQueries + i] = i < count ? delta.row<float>(begin + i)[head] : 0.0f;
    }
  }

  void pack_keys(const BackwardSpace<E>& w, int64_t s, int64_t keys, int64_t head) const {
    const int64_t padded = padded_extent<E>(keys);
    pack_rows(w.keys, padded, w.width, k.row<C>(s) + head * K, k.row_stride(), keys, K);
    pack_rows(w.values, padded, w.width, v.row<C>(s) + head * K, v.row_stride(), keys, K);
    transpose(w.keys_t, w.keys, padded, w.width, w.stage);
    std::fill_n(w.dk, padded * w.width, 0.0f);
    std::fill_n(w.dv, padded * w.width, 0.0f);
  }

  void add_rows(const Tensor& to, const float* rows, int64_t begin, int64_t count, int64_t head,
                int64_t width) const {
    for (int64_t i = 0; i < count; ++i) {
      float* line = to.row<float>(begin + i) + head * K;
      simd::for_lanes(K, [&](int64_t c, int64_t n) {
        store(line + c, load(line + c, n) + load(rows + i * width + c, n), n);
      });
    }
  }
};

}  // namespace

int64_t cpu::attention_backward_bytes(int64_t head_width, DType compute) {
  const int64_t f32 = BackwardSpace<float>(Space(nullptr), head_width).bytes;
  if (compute == DType::kF32) return f32;
  return std::max({f32, BackwardSpace<BlockElement<bf16>>(Space(nullptr), head_width).bytes,
                   attention_tiles_backward_bytes(head_width)});
}

void cpu::attention_backward_by_blocks(const AttentionCall& call, const Tensor& dq, const Tensor& dk,
                                       const Tensor& dv, const Tensor& dout, const Tensor& lse,
                                       const Tensor& delta) {
  const ArenaScope scope(call.workspace);
  const Tensor space = call.workspace.take(
      {call.pool.num_threads(), attention_backward_bytes(call.head_width, call.q.dtype())}, DType::kU8);
  dispatch(call.q.dtype(), [&]<class C>(C) {
    const Backward<C> backward{
        dq, dk, dv, dout, call.q, call.k, call.v, lse, delta, call.head_width, call.scale, call.progress};
    call.pool.parallel_for_indexed(int64_t(call.items.size()) * call.num_heads, [&](int64_t i, int thread) {
      backward.run(call.items[size_t(i / call.num_heads)], i % call.num_heads, space.row<uint8_t>(thread),
                   thread == 0 && call.progress != nullptr);
    });
  });
}

void CpuOps::attention_backward(const Tensor& dq, const Tensor& dk, const Tensor& dv, const Tensor& dout,
                                const Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v,
                                const Tensor& lse, const Tensor& delta, std::span<const AttentionItem> items,
                                int64_t num_heads, double scale) const {
  const char* op = "attention_backward";
  const int64_t K = check_attention(op, q, k, v, lse, items, num_heads, scale);
  check_wide(op, "dq", dq, q.rows(), q.row_size());
  check_wide(op, "dk", dk, k.rows(), q.row_size());
  check_wide(op, "dv", dv, k.rows(), q.row_size());
  check_matrix(op, "dout", dout, q.rows(), q.row_size());
  check_same_type(op, "dout", dout, q);
  check_matrix(op, "out", out, q.rows(), q.row_size());
  checks::check_attention_out(op, out, q, false);
  check_wide(op, "delta", delta, q.rows(), num_heads);
  const AttentionCall call{q, k, v, items, num_heads, K, float(scale), pool_, workspace_, progress_};
  if (q.dtype() == DType::kBF16 && has_tiles())
    return attention_backward_by_tiles(call, dq, dk, dv, dout, lse, delta);
  attention_backward_by_blocks(call, dq, dk, dv, dout, lse, delta);
}

}  // namespace zoetrope
