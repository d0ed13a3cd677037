// Gradients of attention on bf16 by AMX tiles, from the saved log-sum-exp. A task is one head of one item, so
// nobody else adds to its rows of dq, dk and dv: the order of sums is fixed. Spans of keys are packed one
// after the other; blocks of queries meet the span's blocks of keys. dk and dv are summed up transposed.
#include <algorithm>

#include "model/ops/cpu/attention_scores.h"
#include "model/ops/cpu/tile_lines.h"

#if ZT_TILES
namespace zoetrope::cpu {
namespace {

constexpr int64_t kBlockQueries = 256;
constexpr int64_t kBlockKeys = 128;
constexpr int64_t kSpanElements =
    65536;  // packed keys and sums of a span fit into a second-level cache of 1 MiB
constexpr int64_t kBlockHalves = kBlockQueries * kBlockKeys;

struct Work {
  Work(Space space, int64_t K)
      : width(round_up(K, kPanel)),
        span(std::max(kBlockKeys, kSpanElements / width / kBlockKeys * kBlockKeys)),
        keys_t(space.take<bf16>(span * width)),
        values_t(space.take<bf16>(span * width)),
        keys(space.take<bf16>(span * width)),
        queries(space.take<bf16>(kBlockQueries * width)),
        queries_t(space.take<bf16>(kBlockQueries * width)),
        dout(space.take<bf16>(kBlockQueries * width)),
        dout_t(space.take<bf16>(kBlockQueries * width)),
        p(space.take<bf16>(kBlockHalves)),
        ds(space.take<bf16>(kBlockHalves)),
        ds_left(space.take<bf16>(kBlockHalves)),
        scores(space.take<float>(4 * kPanelFloats)),
        dq(space.take<float>(kBlockQueries * width)),
        dk_t(space.take<float>(span * width)),
        dv_t(space.take<float>(span * width)),
        lse2(space.take<float>(kBlockQueries)),
        delta(space.take<float>(kBlockQueries)),
        bytes(space.used()) {}
  int64_t width;                              // K with zeros behind
  int64_t span;                               // keys packed at a time
  bf16 *keys_t, *values_t, *keys;             // right operands, _t of the transpose; keys in pairs of halves
  bf16 *queries, *queries_t, *dout, *dout_t;  // left operands
  bf16 *p, *ds;                               // of two blocks in turn: right operands [keys][queries]
  bf16* ds_left;                              // ds as left operand [queries][keys], keys in pairs of halves
  float* scores;                              // panels of scores and dp, of the chunk at work and of the next
  float *dq, *dk_t, *dv_t;                    // [queries][width]; [keys][width], panels of the transpose
  float *lse2, *delta;                        // per query: log-sum-exp in base 2, delta
  int64_t bytes;
};

/// A block of queries and keys, in panels.
struct Block {
  int64_t queries, first_key, keys, width;
};

/// 2^x for x <= 0 to within 1e-04, which rounding to bf16 hides; 0 below 2^-110 and in the lanes outside of
/// `mask`; NaN stays NaN. Beside tiles only one vector port multiplies, so the other has the rest.
inline __m512 exp2_rough(__m512 x, __mmask16 mask) {
  const __m512 f = _mm512_reduce_ps(x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);  // x minus its floor
  // Interpolates 2^f at Chebyshev nodes of [0, 1].
  __m512 p = _mm512_fmadd_ps(f, _mm512_set1_ps(7.89672570e-02f), _mm512_set1_ps(2.24693156e-01f));
  p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(6.96324771e-01f));
  p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(9.99900288e-01f));
  return _mm512_maskz_scalef_ps(_mm512_mask_cmp_ps_mask(mask, x, _mm512_set1_ps(-110), _CMP_NLT_UQ), p, x);
}

/// Where sixteen queries meet 32 keys.
struct Half {
  const float *scores, *dp;  // two tiles each
  bf16 *p, *ds, *ds_left;
  const float *lse2, *delta;
  Lanes lanes;
};

/// p = 2^(score - lse) and ds = p (dp - delta) of the queries `i` and i + 1.
template <bool kMasked>
inline __attribute__((always_inline)) void differentiate(const Half& half, int i, __m512 scale) {
  const __mmask16 first = kMasked ? half.lanes.first : 0xffff, second = kMasked ? half.lanes.second : 0xffff;
  __m512i p[2][2], ds[2][2];
  for (int j = 0; j < 2; ++j) {
    const __m512 lse2 = _mm512_set1_ps(half.lse2[i + j]), delta = _mm512_set1_ps(half.delta[i + j]);
    for (int h = 0; h < 2; ++h) {
      const int64_t at = h * kTileFloats + (i + j) * 16;
      const __m512 weight =
          exp2_rough(_mm512_fmsub_ps(_mm512_load_ps(half.scores + at), scale, lse2), h == 0 ? first : second);
      p[j][h] = round_upper(weight);
      ds[j][h] = round_upper(_mm512_mul_ps(weight, _mm512_sub_ps(_mm512_load_ps(half.dp + at), delta)));
    }
  }
  for (int h = 0; h < 2; ++h) {
    _mm512_store_si512(half.p + h * kTileHalves + i / 2 * kTileDepth, pair_upper(p[0][h], p[1][h]));
    _mm512_store_si512(half.ds + h * kTileHalves + i / 2 * kTileDepth, pair_upper(ds[0][h], ds[1][h]));
    _mm512_store_si512(half.ds_left + (i + h) * kTileDepth, pair_upper(ds[h][0], ds[h][1]));
  }
}

/// The same for a half's sixteen queries. In between the tiles make dp of the next half, store at `scores_to`
/// the scores that they had made for it, and make the scores of the half after it.
template <bool kMasked>
void differentiate_half(const Half& half, const HalfProduct<2>& dp, float* dp_to,
                        const HalfProduct<0>& scores, float* scores_to, __m512 scale) {
  dp.start();
  differentiate<kMasked>(half, 0, scale);
  dp.start_second();
  if (scores_to) HalfProduct<0>::store(scores_to);
  differentiate<kMasked>(half, 2, scale);
  dp.go_on();
  differentiate<kMasked>(half, 4, scale);
  dp.finish();
  differentiate<kMasked>(half, 6, scale);
  scores.start();
  differentiate<kMasked>(half, 8, scale);
  scores.start_second();
  if (dp_to) HalfProduct<2>::store(dp_to);
  differentiate<kMasked>(half, 10, scale);
  scores.go_on();
  differentiate<kMasked>(half, 12, scale);
  scores.finish();
  differentiate<kMasked>(half, 14, scale);
}

/// Asks for one head of a row, so that it is in the second-level cache when its turn comes.
template <class E>
void prefetch_row(const Tensor& x, int64_t row, int64_t column, int64_t width) {
  const char* from = reinterpret_cast<const char*>(x.row<E>(row) + column);
  for (int64_t i = 0; i < width * int64_t(sizeof(E)); i += 64) _mm_prefetch(from + i, _MM_HINT_T1);
}

/// to[c] += factor * from[c] for `count` <= 16 columns.
void add_scaled(float* to, __m512 from, __m512 factor, int64_t count) {
  const __mmask16 mask = first_lanes(std::min<int64_t>(count, 16)).first;
  _mm512_mask_storeu_ps(to, mask, _mm512_fmadd_ps(from, factor, _mm512_maskz_loadu_ps(mask, to)));
}

struct Backward {
  const AttentionCall& call;
  const Tensor &dq, &dk, &dv, &dout, &lse, &delta;

  /// Prefetches in `steps` equal steps what a block of queries from row `t` adds to, what the next one needs,
  /// and with the last one what the span of keys adds to: all at once they would wait for each other.
  struct Ahead {
    const Backward& call;
    int64_t t, end, head, first_key, keys, steps, step = 0;
    void advance() {
      const int64_t K = call.call.head_width, begin = step * kBlockQueries / steps,
                    past = (step + 1) * kBlockQueries / steps;
      for (int64_t i = t + begin; i < std::min(t + past, end); ++i)
        prefetch_row<float>(call.dq, i, head * K, K);
      for (int64_t i = t + kBlockQueries + begin; i < std::min(t + kBlockQueries + past, end); ++i) {
        prefetch_row<bf16>(call.call.q, i, head * K, K);
        prefetch_row<bf16>(call.dout, i, head * K, K);
        prefetch_row<float>(call.lse, i, head, 1);
        prefetch_row<float>(call.delta, i, head, 1);
      }
      if (t + kBlockQueries >= end)
        for (int64_t i = step * keys / steps; i < (step + 1) * keys / steps; ++i) {
          prefetch_row<float>(call.dk, first_key + i, head * K, K);
          prefetch_row<float>(call.dv, first_key + i, head * K, K);
        }
      ++step;
    }
  };

  void run(const AttentionItem& item, int64_t head, void* space, bool report) const {
    const int64_t K = call.head_width;
    const Work w(Space(space), K);
    const TileScope tiles;
    for (int64_t s = item.kv_begin; s < item.kv_end; s += w.span) {
      const int64_t keys = std::min(w.span, item.kv_end - s), padded = round_up(keys, kPanel);
      pack_right_transposed(w.keys_t, head_rows(call.k, s, keys, head, K), padded, w.width);
      pack_right_transposed(w.values_t, head_rows(call.v, s, keys, head, K), padded, w.width);
      pack_right(w.keys, head_rows(call.k, s, keys, head, K), padded, w.width, Pairs::kHalves);
      std::fill_n(w.dk_t, padded * w.width, 0.0f);
      std::fill_n(w.dv_t, padded * w.width, 0.0f);
      for (int64_t t = item.q_begin; t < item.q_end; t += kBlockQueries)
        meet(w, t, item.q_end, s, keys, head, report);
      add_transposed(dk, w.dk_t, s, keys, head, w.width, call.scale);
      add_transposed(dv, w.dv_t, s, keys, head, w.width, 1.0f);
    }
  }

  /// All gradients of the block of queries from row `t` to `end` at most and the packed span of `keys` keys.
  void meet(const Work& w, int64_t t, int64_t end, int64_t s_begin, int64_t keys, int64_t head,
            bool report) const {
    const int64_t count = std::min(kBlockQueries, end - t);
    pack_queries(w, t, count, head);
    const int64_t queries = (count + kPanel - 1) / kPanel, width = w.width / kPanel;
    Ahead ahead{*this, t, end, head, s_begin, keys, queries * 2 * ((keys + kPanel - 1) / kPanel)};
    for (int64_t s = 0; s < keys; s += kBlockKeys) {
      const Block b{queries, s / kPanel, (std::min(kBlockKeys, keys - s) + kPanel - 1) / kPanel, width};
      if (report) call.progress();
      differentiate_block(w, b, keys, ahead);
      add_sums(w, b);
    }
    add_queries(w, t, count, head);
  }

  void pack_queries(const Work& w, int64_t t, int64_t count, int64_t head) const {
    const int64_t K = call.head_width, rows = round_up(count, kPanel);
    const HeadRows q = head_rows(call.q, t, count, head, K), g = head_rows(dout, t, count, head, K);
    pack_left(w.queries, q, rows, w.width);
    pack_left_transposed(w.queries_t, q, rows, w.width);
    pack_left(w.dout, g, rows, w.width);
    pack_left_transposed(w.dout_t, g, rows, w.width);
    for (int64_t i = 0; i < rows; ++i) {
      // Absent queries, and those that met no key (lse -inf), get probability 0.
      const float l = i < count ? lse.row<float>(t + i)[head] : kMinusInfinity;
      w.lse2[i] = l == kMinusInfinity ? std::numeric_limits<float>::infinity() : float(double(l) * kLog2e);
      w.delta[i] = i < count ? delta.row<float>(t + i)[head] : 0.0f;
    }
  }

  /// p and ds of a block.
  void differentiate_block(const Work& w, const Block& b, int64_t keys, Ahead& ahead) const {
    const __m512 scale = _mm512_set1_ps(float(double(call.scale) * kLog2e));
    const int64_t width = b.width * kPanelHalves, row = 2 * b.keys, halves = b.queries * row;
    const auto at = [&](int64_t i) { return i < halves ? w.scores + i % 2 * 4 * kTileFloats : nullptr; };
    const auto left = [&](const bf16* from, int64_t i) {
      return from + i / row * width + i % 2 * kTileHalves;
    };
    const auto right = [&](const bf16* from, int64_t i) {
      return from + (b.first_key + i % row / 2) * width;
    };
    const auto scores = [&](int64_t i) {
      return i < halves ? HalfProduct<0>{left(w.queries, i), right(w.keys_t, i), b.width} : HalfProduct<0>{};
    };
    const auto dp = [&](int64_t i) {
      return i < halves ? HalfProduct<2>{left(w.dout, i), right(w.values_t, i), b.width} : HalfProduct<2>{};
    };
    scores(0).all();
    dp(0).all();
    HalfProduct<0>::store(at(0));
    HalfProduct<2>::store(at(0) + 2 * kTileFloats);
    scores(1).all();
    for (int64_t i = 0; i < halves; ++i) {
      const int64_t query = i / row, key = i % row / 2, first = i % 2 * kTile;
      ahead.advance();
      const int64_t here = keys - (b.first_key + key) * kPanel,
                    of_keys = (key * b.queries + query) * kPanelHalves;
      const Half half{at(i),
                      at(i) + 2 * kTileFloats,
                      w.p + of_keys + first / 2 * kTileDepth,
                      w.ds + of_keys + first / 2 * kTileDepth,
                      w.ds_left + (query * b.keys + key) * kPanelHalves + first * kTileDepth,
                      w.lse2 + query * kPanel + first,
                      w.delta + query * kPanel + first,
                      first_lanes(here)};
      float* const next = at(i + 1);
      (here >= kPanel ? differentiate_half<false>
                      : differentiate_half<true>)(half, dp(i + 1), next ? next + 2 * kTileFloats : nullptr,
                                                  scores(i + 2), next, scale);
    }
  }

  /// Adds a block's parts of dv, dk and dq.
  static void add_sums(const Work& w, const Block& b) {
    PanelProducts tiles;
    const auto add_keys = [&](float* sums, const bf16* left, const bf16* right) {
      for (int64_t c = 0; c < b.width; ++c)
        for (int64_t key = 0; key < b.keys; ++key)
          tiles.multiply({sums + ((b.first_key + key) * b.width + c) * kPanelFloats,
                          left + c * b.queries * kPanelHalves, right + key * b.queries * kPanelHalves, 1, 1,
                          b.queries, true});
    };
    add_keys(w.dv_t, w.dout_t, w.p);
    add_keys(w.dk_t, w.queries_t, w.ds);
    for (int64_t c = 0; c < b.width; ++c)
      for (int64_t query = 0; query < b.queries; ++query)
        tiles.multiply(
            {w.dq + (query * b.width + c) * kPanelFloats, w.ds_left + query * b.keys * kPanelHalves,
             w.keys + (b.first_key * b.width + c) * kPanelHalves, 1, b.width, b.keys, b.first_key > 0});
    tiles.flush();
  }

  void add_queries(const Work& w, int64_t t, int64_t count, int64_t head) const {
    const int64_t K = call.head_width;
    const __m512 factor = _mm512_set1_ps(call.scale);
    for (int64_t i = 0; i < count; ++i)
      for (int64_t c = 0; c < K; c += kTile) {
        const float* panel = w.dq + (i / kPanel * w.width + c / kPanel * kPanel) * kPanel;
        const int64_t tile = i % kPanel / kTile * 2 + c % kPanel / kTile;
        add_scaled(dq.row<float>(t + i) + head * K + c,
                   _mm512_load_ps(panel + tile * kTileFloats + i % kTile * 16), factor, K - c);
      }
  }

  /// Rows [begin, begin + count) of one head += factor * the transposes of `from`, panels [keys][width].
  void add_transposed(const Tensor& to, const float* from, int64_t begin, int64_t count, int64_t head,
                      int64_t width, float scale) const {
    const int64_t K = call.head_width;
    const __m512 factor = _mm512_set1_ps(scale);
    for (int64_t s = 0; s < count; s += kTile) {
      for (int64_t c = 0; c < K; c += kTile) {
        const float* tile = from + (s / kPanel * width + c / kPanel * kPanel) * kPanel +
                            (c % kPanel / kTile * 2 + s % kPanel / kTile) * kTileFloats;
        __m512i line[16];
        for (int64_t i = 0; i < 16; ++i) line[i] = _mm512_load_si512(tile + i * 16);
        transpose_lines(line);
        for (int64_t i = 0; i < std::min(kTile, count - s); ++i)
          add_scaled(to.row<float>(begin + s + i) + head * K + c, _mm512_castsi512_ps(line[i]), factor,
                     K - c);
      }
    }
  }
};

}  // namespace

int64_t attention_tiles_backward_bytes(int64_t head_width) { return Work(Space(nullptr), head_width).bytes; }

void attention_backward_by_tiles(const AttentionCall& call, const Tensor& dq, const Tensor& dk,
                                 const Tensor& dv, const Tensor& dout, const Tensor& lse,
                                 const Tensor& delta) {
  const ArenaScope scope(call.workspace);
  const Tensor space = call.workspace.take(
      {call.pool.num_threads(), attention_tiles_backward_bytes(call.head_width)}, DType::kU8);
  const Backward backward{call, dq, dk, dv, dout, lse, delta};
  call.pool.parallel_for_indexed(int64_t(call.items.size()) * call.num_heads, [&](int64_t i, int thread) {
    backward.run(call.items[size_t(i / call.num_heads)], i % call.num_heads, space.row<uint8_t>(thread),
                 thread == 0 && call.progress != nullptr);
  });
}

}  // namespace zoetrope::cpu
#else

int64_t zoetrope::cpu::attention_tiles_backward_bytes(int64_t) { return 0; }
void zoetrope::cpu::attention_backward_by_tiles(const AttentionCall&, const Tensor&, const Tensor&,
                                                const Tensor&, const Tensor&, const Tensor&, const Tensor&) {
  throw Error("this build has no kernel of attention by tiles");
}
#endif
