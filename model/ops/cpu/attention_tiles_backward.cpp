// Gradients of attention on bf16 by AMX tiles, from the saved log-sum-exp. A task is one head of one item, so
// nobody else adds to its rows of dq, dk and dv: the order of sums is fixed. Spans of keys are packed one
// after the other; blocks of queries meet the span's blocks of keys. dk and dv are summed up transposed.
#include <algorithm>

#include "model/ops/cpu/attention_tiles.h"

#if ZT_TILES
namespace zoetrope::cpu {
namespace {

constexpr int64_t kBlockQueries = 128;
constexpr int64_t kBlockKeys = 64;
constexpr int64_t kSpanElements =
    65536;  // packed keys and sums of a span fit into a second-level cache of 1 MiB

struct Work {
  Work(Space space, int64_t K)
      : width(round_up(K, kTileDepth)),
        span(std::max(kBlockKeys, kSpanElements / width / kBlockKeys * kBlockKeys)),
        keys_t(space.take<bf16>(span * width)),
        values_t(space.take<bf16>(span * width)),
        keys(space.take<bf16>(span * width)),
        queries(space.take<bf16>(kBlockQueries * width)),
        queries_t(space.take<bf16>(kBlockQueries * width)),
        dout(space.take<bf16>(kBlockQueries * width)),
        dout_t(space.take<bf16>(kBlockQueries * width)),
        p(space.take<bf16>(kBlockQueries * kBlockKeys)),
        ds(space.take<bf16>(kBlockQueries * kBlockKeys)),
        ds_left(space.take<bf16>(kBlockQueries * kBlockKeys)),
        scores(space.take<float>(2 * kTile * kBlockKeys)),
        dp(space.take<float>(2 * kTile * kBlockKeys)),
        dq(space.take<float>(kBlockQueries * width)),
        dk_t(space.take<float>(span * width)),
        dv_t(space.take<float>(span * width)),
        lse2(space.take<float>(kBlockQueries)),
        delta(space.take<float>(kBlockQueries)),
        bytes(space.used()) {}
  int64_t width;                              // K with zeros behind
  int64_t span;                               // keys packed at a time
  bf16 *keys_t, *values_t, *keys;             // right tiles, _t of the transpose
  bf16 *queries, *queries_t, *dout, *dout_t;  // left tiles
  bf16 *p, *ds, *ds_left;   // of one block: right tiles with permuted keys; ds again in left tiles
  float *scores, *dp;       // [16, 64] in tiles, of the row at work and of the next
  float *dq, *dk_t, *dv_t;  // [64, width]; [width, span] with permuted keys
  float *lse2, *delta;      // per query: log-sum-exp in base 2, delta
  int64_t bytes;
};

/// Interleaving two rows of 32 columns within quarters puts column k into lane `l` of right tile `t`.
int64_t key_of_lane(int64_t t, int64_t l) { return t / 2 * 32 + l / 4 * 8 + t % 2 * 4 + l % 4; }

/// p = 2^(score - lse) and ds = p (dp - delta) of sixteen queries, the tile row `r` of a block.
void differentiate(const Work& w, int64_t r, int64_t groups, Lanes last, __m512 scale) {
  const int64_t at = r % 2 * kTile * kBlockKeys;
  bf16* left = w.ds_left + r * groups * kTileHalves;
  const int64_t right = r / 2 * groups * 2 * kTileHalves + r % 2 * 8 * kTileDepth;
  for (int64_t i = 0; i < 16; i += 2) {
    const float *s = w.scores + at + 16 * i, *d = w.dp + at + 16 * i;
    bf16 *line = left + i * kTileDepth, *p_to = w.p + right + i / 2 * kTileDepth,
         *ds_to = w.ds + right + i / 2 * kTileDepth;
    for (int64_t g = 0; g < groups; ++g) {
      const Lanes lanes = g + 1 == groups ? last : Lanes{};
      __m512i p_row[2], ds_row[2];
      for (int64_t j = 0; j < 2; ++j) {
        const __m512 lse = _mm512_set1_ps(w.lse2[r * 16 + i + j]),
                     delta = _mm512_set1_ps(w.delta[r * 16 + i + j]);
        const __m512 first = exp2_below(_mm512_load_ps(s + 16 * j), scale, lse, lanes.first);
        const __m512 second = exp2_below(_mm512_load_ps(s + kTileFloats + 16 * j), scale, lse, lanes.second);
        p_row[j] = round_pair(first, second);
        ds_row[j] =
            round_pair(_mm512_mul_ps(first, _mm512_sub_ps(_mm512_load_ps(d + 16 * j), delta)),
                       _mm512_mul_ps(second, _mm512_sub_ps(_mm512_load_ps(d + kTileFloats + 16 * j), delta)));
        _mm512_store_si512(line + j * kTileDepth, ds_row[j]);
      }
      _mm512_store_si512(p_to, _mm512_unpacklo_epi16(p_row[0], p_row[1]));
      _mm512_store_si512(p_to + kTileHalves, _mm512_unpackhi_epi16(p_row[0], p_row[1]));
      _mm512_store_si512(ds_to, _mm512_unpacklo_epi16(ds_row[0], ds_row[1]));
      _mm512_store_si512(ds_to + kTileHalves, _mm512_unpackhi_epi16(ds_row[0], ds_row[1]));
      s += 2 * kTileFloats, d += 2 * kTileFloats, line += kTileHalves;
      p_to += 2 * kTileHalves, ds_to += 2 * kTileHalves;
    }
  }
}

/// to[c] += factor * from[c] for `count` <= 16 columns.
void add_scaled(float* to, __m512 from, __m512 factor, int64_t count) {
  const __mmask16 mask = first_lanes(std::min<int64_t>(count, 16)).first;
  _mm512_mask_storeu_ps(to, mask, _mm512_fmadd_ps(from, factor, _mm512_maskz_loadu_ps(mask, to)));
}

struct Backward {
  const AttentionCall& call;
  const Tensor &dq, &dk, &dv, &dout, &lse, &delta;

  void run(const AttentionItem& item, int64_t head, void* space, bool report) const {
    const int64_t K = call.head_width;
    const Work w(Space(space), K);
    const TileScope tiles;
    for (int64_t s = item.kv_begin; s < item.kv_end; s += w.span) {
      const int64_t keys = std::min(w.span, item.kv_end - s), padded = round_up(keys, kTileDepth);
      pack_right_transposed(w.keys_t, head_rows(call.k, s, keys, head, K), padded, w.width);
      pack_right_transposed(w.values_t, head_rows(call.v, s, keys, head, K), padded, w.width);
      pack_right(w.keys, head_rows(call.k, s, keys, head, K), padded, w.width);
      std::fill_n(w.dk_t, padded * w.width, 0.0f);
      std::fill_n(w.dv_t, padded * w.width, 0.0f);
      for (int64_t t = item.q_begin; t < item.q_end; t += kBlockQueries)
        meet(w, t, std::min(kBlockQueries, item.q_end - t), keys, head, report);
      add_transposed(dk, w.dk_t, s, keys, head, w.width, call.scale);
      add_transposed(dv, w.dv_t, s, keys, head, w.width, 1.0f);
    }
  }

  /// All gradients of `count` queries from row `t` and the packed span of `keys` keys.
  void meet(const Work& w, int64_t t, int64_t count, int64_t keys, int64_t head, bool report) const {
    const int64_t K = call.head_width, rows = round_up(count, kTileDepth) / kTile,
                  depth = w.width / kTileDepth;
    const int64_t columns = w.width / kTile, span = round_up(keys, kTileDepth) / kTile;
    const __m512 scale = _mm512_set1_ps(float(double(call.scale) * kLog2e));
    const HeadRows q = head_rows(call.q, t, count, head, K), g = head_rows(dout, t, count, head, K);
    pack_left(w.queries, q, rows * kTile, w.width);
    pack_left_transposed(w.queries_t, q, rows * kTile, w.width);
    pack_left(w.dout, g, rows * kTile, w.width);
    pack_left_transposed(w.dout_t, g, rows * kTile, w.width);
    for (int64_t i = 0; i < rows * kTile; ++i) {
      // Absent queries, and those that met no key (lse -inf), get probability 0.
      const float l = i < count ? lse.row<float>(t + i)[head] : kMinusInfinity;
      w.lse2[i] = l == kMinusInfinity ? std::numeric_limits<float>::infinity() : float(double(l) * kLog2e);
      w.delta[i] = i < count ? delta.row<float>(t + i)[head] : 0.0f;
    }
    for (int64_t s = 0; s < keys; s += kBlockKeys) {
      if (report) call.progress();
      const int64_t here = std::min(kBlockKeys, keys - s), groups = (here + kTileDepth - 1) / kTileDepth;
      const Lanes last = first_lanes(here - (groups - 1) * kTileDepth);
      const auto score = [&](int64_t r) {
        const int64_t to = r % 2 * kTile * kBlockKeys, from = r * kTile * w.width;
        multiply_tiles({w.scores + to, 2 * groups}, {w.queries + from, depth, 1},
                       {w.keys_t + s * w.width, 1, depth}, 1, 2 * groups, depth, false);
        multiply_tiles({w.dp + to, 2 * groups}, {w.dout + from, depth, 1},
                       {w.values_t + s * w.width, 1, depth}, 1, 2 * groups, depth, false);
      };
      score(0);
      for (int64_t r = 0; r < rows; ++r) {
        if (r + 1 < rows) score(r + 1);  // the tiles work on it while row r is differentiated
        differentiate(w, r, groups, last, scale);
      }
      const int64_t at = s / kTile * kTileFloats;
      multiply_tiles({w.dv_t + at, span}, {w.dout_t, rows / 2, 1}, {w.p, 2 * groups, 1}, columns, 2 * groups,
                     rows / 2, true);
      multiply_tiles({w.dk_t + at, span}, {w.queries_t, rows / 2, 1}, {w.ds, 2 * groups, 1}, columns,
                     2 * groups, rows / 2, true);
      multiply_tiles({w.dq, columns}, {w.ds_left, groups, 1}, {w.keys + s * w.width, columns, 1}, rows,
                     columns, groups, s > 0);
    }
    const __m512 factor = _mm512_set1_ps(call.scale);
    for (int64_t i = 0; i < count; ++i)
      for (int64_t c = 0; c * kTile < K; ++c)
        add_scaled(dq.row<float>(t + i) + head * K + c * kTile,
                   _mm512_load_ps(w.dq + (i / kTile * columns + c) * kTileFloats + i % kTile * 16), factor,
                   K - c * kTile);
  }

  /// Rows [begin, begin + count) of one head += factor * the transpose of `from` [width, count].
  void add_transposed(const Tensor& to, const float* from, int64_t begin, int64_t count, int64_t head,
                      int64_t width, float scale) const {
    const int64_t K = call.head_width, span = round_up(count, kTileDepth) / kTile;
    const __m512 factor = _mm512_set1_ps(scale);
    for (int64_t t = 0; t < span; ++t)
      for (int64_t c = 0; c < width / kTile && c * kTile < K; ++c) {
        __m512i line[16];
        for (int64_t i = 0; i < 16; ++i)
          line[i] = _mm512_load_si512(from + (c * span + t) * kTileFloats + i * 16);
        transpose_lines(line);
        for (int64_t i = 0; i < 16; ++i)
          if (const int64_t key = key_of_lane(t, i); key < count)
            add_scaled(to.row<float>(begin + key) + head * K + c * kTile, _mm512_castsi512_ps(line[i]),
                       factor, K - c * kTile);
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
