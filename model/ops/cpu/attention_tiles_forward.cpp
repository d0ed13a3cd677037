// Forward attention on bf16 by AMX tiles. A task holds up to kTaskQueries queries of one head. Spans of keys
// are packed one after the other; each row of 32 queries walks over the span's blocks of keys: scores by
// tiles and their exponentials on vectors in turns, then output by tiles.
#include <algorithm>

#include "model/ops/cpu/attention_scores.h"

#if ZT_TILES
namespace zoetrope::cpu {
namespace {

constexpr int64_t kTaskQueries = 1024;
constexpr int64_t kSpanKeys = 1024;
constexpr int64_t kBlockKeys = 256;

// |score| is at most |q| |k| scale. Where that is at most kBound in base 2, powers of two of the scores
// themselves serve as weights, without a maximum: they and their sums keep far from f32's ends, 2^-126 and
// 2^127.
constexpr float kBound = 60;

struct Work {
  Work(Space space, int64_t K)
      : width(round_up(K, kPanel)),
        keys(space.take<bf16>(kSpanKeys * width)),
        values(space.take<bf16>(kSpanKeys * width)),
        queries(space.take<bf16>(kPanel * width)),
        weights(space.take<bf16>(kPanel * kBlockKeys)),
        scores(space.take<float>(kPanelFloats)),
        out(space.take<float>(kTaskQueries * width)),
        sums(space.take<float>(kTaskQueries * 16)),
        tops(space.take<float>(kTaskQueries)),
        bounded(space.take<uint8_t>(kTaskQueries / kPanel)),
        row(space.take<float>(width)),
        bytes(space.used()) {}
  int64_t width;            // K with zeros behind
  bf16 *keys, *values;      // right operands of k transposed and of v, whose keys make pairs of halves
  bf16 *queries, *weights;  // left operands of q and of the probabilities
  float* scores;            // half panels, of the half at work and of the next
  float* out;               // [1024][width] in panels
  float *sums, *tops;       // per query: sixteen partial sums; the maximum times scale, in base 2
  uint8_t* bounded;         // per 32 queries: all scores so far were within kBound, and tops is 0
  float* row;
  int64_t bytes;
};

/// 2^(i / 32) for i < 32, and what turns score into a power of two.
struct Powers {
  explicit Powers(float scale2) : scale(_mm512_set1_ps(scale2)) {
    alignas(64) float table[32];
    for (int i = 0; i < 32; ++i) table[i] = float(std::exp2(i / 32.0));
    low = _mm512_load_ps(table), high = _mm512_load_ps(table + 16);
  }
  /// 2^(score * scale - top) within 2e-07 in the lanes of `mask`, 0 in the others; NaN stays NaN. kBounded:
  /// top is 0 and |score * scale| <= 125; else 0 below 2^-126. Source: 2^n 2^r, n to the nearest 32nd, 2^r =
  /// 1 + r q(r), q interpolating (2^r - 1) / r at Chebyshev nodes.
  template <bool kBounded>
  __m512 operator()(__m512 score, __m512 top, __mmask16 mask) const {
    const __m512 to_32nd = _mm512_set1_ps(0x1.8p18f);  // adding it rounds to a 32nd, counted in the low bits
    const __m512 x = kBounded ? score : _mm512_fmsub_ps(score, scale, top);
    const __m512 shifted = kBounded ? _mm512_fmadd_ps(score, scale, to_32nd) : _mm512_add_ps(x, to_32nd);
    const __m512 n = _mm512_sub_ps(shifted, to_32nd);
    const __m512 r = kBounded ? _mm512_fmsub_ps(score, scale, n) : _mm512_sub_ps(x, n);
    const __m512 base = _mm512_permutex2var_ps(low, _mm512_castps_si512(shifted), high);
    const __m512 q = _mm512_fmadd_ps(r, _mm512_set1_ps(2.402276810e-01f), _mm512_set1_ps(6.931539560e-01f));
    const __m512 power = _mm512_fmadd_ps(_mm512_mul_ps(base, r), q, base);
    if constexpr (!kBounded) mask = _mm512_mask_cmp_ps_mask(mask, x, _mm512_set1_ps(-126), _CMP_NLT_UQ);
    return _mm512_maskz_scalef_ps(mask, power, n);
  }
  __m512 scale, low, high;
};

/// Where sixteen queries meet 32 keys.
struct Half {
  const float* scores;  // two tiles
  bf16* weights;
  float* sums;
  const float* tops;
  Lanes lanes;
};

/// Probabilities of the queries `i` and i + 1, times 2^-top; adds to the queries' partial sums.
template <bool kBounded, bool kMasked>
inline __attribute__((always_inline)) void soften(const Half& half, int i, const Powers& powers) {
  const __mmask16 low = kMasked ? half.lanes.first : 0xffff, high = kMasked ? half.lanes.second : 0xffff;
  for (int j = i; j < i + 2; ++j) {
    const __m512 top = kBounded ? _mm512_setzero_ps() : _mm512_set1_ps(half.tops[j]);
    const __m512 first = powers.operator()<kBounded>(_mm512_load_ps(half.scores + 16 * j), top, low);
    const __m512 second =
        powers.operator()<kBounded>(_mm512_load_ps(half.scores + kTileFloats + 16 * j), top, high);
    float* sum = half.sums + 16 * j;
    _mm512_store_ps(sum, _mm512_add_ps(_mm512_load_ps(sum), _mm512_add_ps(first, second)));
    _mm512_store_si512(half.weights + j * kTileDepth, pair_upper(round_upper(first), round_upper(second)));
  }
}

/// The same for a half's sixteen queries. In between the tiles make the scores of the next half.
template <bool kBounded, bool kMasked>
void soften_half(const Half& half, const HalfProduct<0>& scores, float* scores_to, const Powers& given) {
  const Powers powers = given;
  scores.start();
  soften<kBounded, kMasked>(half, 0, powers);
  scores.start_second();
  soften<kBounded, kMasked>(half, 2, powers);
  scores.go_on();
  soften<kBounded, kMasked>(half, 4, powers);
  scores.finish();
  soften<kBounded, kMasked>(half, 6, powers);
  soften<kBounded, kMasked>(half, 8, powers);
  soften<kBounded, kMasked>(half, 10, powers);
  if (scores_to) HalfProduct<0>::store(scores_to);
  soften<kBounded, kMasked>(half, 12, powers);
  soften<kBounded, kMasked>(half, 14, powers);
}

/// What a query's outputs and sums must be multiplied with, since its maximum rose.
struct Shrink {
  alignas(64) float factor[16];
  bool any;
};

/// Renews the maxima of sixteen queries, given the largest scores lane by lane.
Shrink raise_tops(float* tops, const __m512 (&most)[16], __m512 scale) {
  const auto larger = [](__m512 a, __m512 b) { return _mm512_max_ps(a, b); };
  const __m512 old = _mm512_load_ps(tops);
  const __m512 top = _mm512_max_ps(_mm512_mul_ps(combine_lanes(most, larger), scale), old);
  Shrink shrink;
  shrink.any = _mm512_cmp_ps_mask(top, old, _CMP_NEQ_UQ) != 0;
  _mm512_store_ps(shrink.factor,
                  std::bit_cast<__m512>(simd::exp2<6>(std::bit_cast<simd::F16>(_mm512_sub_ps(old, top)))));
  _mm512_store_ps(tops, top);
  return shrink;
}

/// The largest |k|^2 among packed keys.
float largest_key(const bf16* keys_t, int64_t rows, int64_t width) {
  __m512 most = _mm512_setzero_ps();
  for (int64_t r = 0; r < rows; r += kTile, keys_t += kTile * width) {
    __m512 sum = _mm512_setzero_ps();
    for (int64_t i = 0; i < width / 2; ++i) {
      const auto pairs = std::bit_cast<__m512bh>(_mm512_load_si512(keys_t + i * kTileDepth));
      sum = _mm512_dpbf16_ps(sum, pairs, pairs);
    }
    // The sum first: a NaN in it must stay.
    most = _mm512_mask_mov_ps(_mm512_max_ps(most, sum), _mm512_cmp_ps_mask(sum, sum, _CMP_UNORD_Q), sum);
  }
  alignas(64) float lanes[16];
  _mm512_store_ps(lanes, most);
  float largest = 0;
  for (const float x : lanes) largest = x <= largest ? largest : x;
  return largest;
}

/// Whether all scores of sixteen packed queries, tiles of panels, are within kBound; false where anything is
/// NaN.
bool within_bound(const bf16* queries, int64_t width, float largest_key, float scale2) {
  __m512 sum[16];
  for (int64_t i = 0; i < 16; ++i) {
    sum[i] = _mm512_setzero_ps();
    for (int64_t c = 0; c < width / kTileDepth; ++c) {
      const auto pairs =
          std::bit_cast<__m512bh>(_mm512_load_si512(queries + c * kPanelHalves + i * kTileDepth));
      sum[i] = _mm512_dpbf16_ps(sum[i], pairs, pairs);
    }
  }
  const __m512 square = combine_lanes(sum, [](__m512 a, __m512 b) { return _mm512_add_ps(a, b); });
  const __m512 reach = _mm512_mul_ps(square, _mm512_set1_ps(largest_key * scale2 * scale2));
  return _mm512_cmp_ps_mask(reach, _mm512_set1_ps(kBound * kBound), _CMP_LE_OQ) == 0xffff;
}

void scale_rows(float* rows, const float* factor) {
  for (int64_t i = 0; i < 16; ++i)
    _mm512_store_ps(rows + 16 * i, _mm512_mul_ps(_mm512_load_ps(rows + 16 * i), _mm512_set1_ps(factor[i])));
}

/// 32 queries and a block of keys, in panels.
struct Block {
  int64_t query, first_key, keys, width;
  int64_t rows;  // keys that exist, from the first on
  bool first;    // of all keys
};

template <class O>
struct Forward {
  const AttentionCall& call;
  const Tensor &out, &lse;
  bool accumulate;

  void run(const AttentionTask& task, void* space, bool report) const {
    const Work w(Space(space), call.head_width);
    const TileScope tiles;
    const int64_t queries = task.end - task.begin;
    std::fill_n(w.sums, round_up(queries, kPanel) * 16, 0.0f);
    std::fill_n(w.tops, round_up(queries, kPanel), kMinusInfinity);
    std::fill_n(w.bounded, round_up(queries, kPanel) / kPanel, uint8_t(1));
    const Powers powers(float(double(call.scale) * kLog2e));
    for (int64_t s = task.item->kv_begin; s < task.item->kv_end; s += kSpanKeys) {
      const int64_t keys = std::min(kSpanKeys, task.item->kv_end - s), padded = round_up(keys, kPanel);
      pack_right_transposed(w.keys, head_rows(call.k, s, keys, task.head, call.head_width), padded, w.width);
      pack_right(w.values, head_rows(call.v, s, keys, task.head, call.head_width), padded, w.width,
                 Pairs::kHalves);
      const float longest = largest_key(w.keys, padded, w.width);
      for (int64_t b = 0; b < queries; b += kPanel) {
        if (report && b % 64 == 0) call.progress();
        attend(w, task, b, keys, longest, s == task.item->kv_begin, powers);
      }
    }
    for (int64_t b = 0; b < queries; b += kTile) finish(w, task, b);
  }

  /// Queries [b, b + 32) of the task against the packed span of `keys` keys.
  void attend(const Work& w, const AttentionTask& task, int64_t b, int64_t keys, float longest,
              bool first_span, const Powers& powers) const {
    const int64_t count = std::min(kPanel, task.end - task.begin - b), width = w.width / kPanel;
    pack_left(w.queries, head_rows(call.q, task.begin + b, count, task.head, call.head_width), kPanel,
              w.width);
    uint8_t& bounded = w.bounded[b / kPanel];
    for (int64_t half = 0; half < 2; ++half)
      bounded = bounded && within_bound(w.queries + half * kTileHalves, w.width, longest,
                                        float(double(call.scale) * kLog2e));
    if (bounded && first_span) std::fill_n(w.tops + b, kPanel, 0.0f);
    PanelProducts tiles;
    for (int64_t s = 0; s < keys; s += kBlockKeys) {
      const int64_t rows = std::min(kBlockKeys, keys - s);
      const Block block{b, s / kPanel, (rows + kPanel - 1) / kPanel, width, rows, first_span && s == 0};
      if (!bounded) raise(w, block, powers.scale);
      (bounded ? soften_block<true> : soften_block<false>)(w, block, powers);
      for (int64_t c = 0; c < width; ++c)
        tiles.multiply({w.out + b * w.width + c * kPanelFloats, w.weights,
                        w.values + (block.first_key * width + c) * kPanelHalves, 1, width, block.keys,
                        !block.first});
      tiles.flush();
    }
  }

  static HalfProduct<0> scores(const Work& w, const Block& b, int64_t i) {
    if (i >= 2 * b.keys) return {};
    return {w.queries + i % 2 * kTileHalves, w.keys + (b.first_key + i / 2) * b.width * kPanelHalves,
            b.width};
  }
  static float* scores_at(const Work& w, int64_t i) { return w.scores + i % 2 * 2 * kTileFloats; }
  /// Lanes of keys that exist in half `i`.
  static Lanes lanes(const Block& b, int64_t i) { return first_lanes(b.rows - i / 2 * kPanel); }

  template <bool kBounded>
  static void soften_block(const Work& w, const Block& b, const Powers& powers) {
    scores(w, b, 0).all();
    HalfProduct<0>::store(scores_at(w, 0));
    for (int64_t i = 0; i < 2 * b.keys; ++i) {
      const int64_t first = b.query + i % 2 * kTile;
      const Half half{scores_at(w, i), w.weights + i / 2 * kPanelHalves + i % 2 * kTileHalves,
                      w.sums + first * 16, w.tops + first, lanes(b, i)};
      const bool whole = b.rows - i / 2 * kPanel >= kPanel;
      (whole ? soften_half<kBounded, false>
             : soften_half<kBounded, true>)(half, scores(w, b, i + 1),
                                            i + 1 < 2 * b.keys ? scores_at(w, i + 1) : nullptr, powers);
    }
  }

  /// Renews the maxima of 32 queries and what hangs on them; the scores are made for that alone.
  static void raise(const Work& w, const Block& b, __m512 scale) {
    for (int64_t half = 0; half < 2; ++half) {
      __m512 most[16];
      for (__m512& m : most) m = _mm512_set1_ps(kMinusInfinity);
      for (int64_t i = half; i < 2 * b.keys; i += 2) {
        scores(w, b, i).all();
        HalfProduct<0>::store(scores_at(w, i));
        const Lanes here = lanes(b, i);
        for (int row = 0; row < 16; ++row) {
          const float* from = scores_at(w, i) + 16 * row;
          most[row] = _mm512_mask_max_ps(most[row], here.first, _mm512_load_ps(from), most[row]);
          most[row] =
              _mm512_mask_max_ps(most[row], here.second, _mm512_load_ps(from + kTileFloats), most[row]);
        }
      }
      const int64_t first = b.query + half * kTile;
      const Shrink shrink = raise_tops(w.tops + first, most, scale);
      if (!shrink.any || b.first) continue;
      scale_rows(w.sums + first * 16, shrink.factor);
      for (int64_t c = 0; c < 2 * b.width; ++c)
        scale_rows(w.out + b.query * w.width + c / 2 * kPanelFloats + (half * 2 + c % 2) * kTileFloats,
                   shrink.factor);
    }
  }

  /// Divides sixteen queries' outputs by their sums and writes or merges them.
  void finish(const Work& w, const AttentionTask& task, int64_t b) const {
    __m512 partial[16];
    for (int i = 0; i < 16; ++i) partial[i] = _mm512_load_ps(w.sums + (b + i) * 16);
    alignas(64) float total[16];
    _mm512_store_ps(total, combine_lanes(partial, [](__m512 a, __m512 c) { return _mm512_add_ps(a, c); }));
    const int64_t count = std::min(kTile, task.end - task.begin - b), K = call.head_width;
    for (int64_t i = 0; i < count; ++i) {
      const float* tiles =
          w.out + b / kPanel * kPanel * w.width + b % kPanel / kTile * 2 * kTileFloats + i * 16;
      const __m512 inverse = _mm512_set1_ps(total[i] == 0 ? 0.0f : 1.0f / total[i]);
      const float row_lse =
          total[i] == 0 ? kMinusInfinity : w.tops[b + i] / float(kLog2e) + std::log(total[i]);
      for (int64_t c = 0; c < w.width / kTile; ++c)
        _mm512_store_ps(
            w.row + c * 16,
            total[i] == 0
                ? _mm512_setzero_ps()
                : _mm512_mul_ps(_mm512_load_ps(tiles + c / 2 * kPanelFloats + c % 2 * kTileFloats), inverse));
      const int64_t t = task.begin + b + i;
      put_row(out.row<O>(t) + task.head * K, lse.row<float>(t)[task.head], w.row, row_lse, K, accumulate);
    }
  }
};

}  // namespace

int64_t attention_tiles_bytes(int64_t head_width) { return Work(Space(nullptr), head_width).bytes; }

void attention_by_tiles(const AttentionCall& call, const Tensor& out, const Tensor& lse, bool accumulate) {
  const std::vector<AttentionTask> tasks = cut(call, kTaskQueries);
  const ArenaScope scope(call.workspace);
  const Tensor space =
      call.workspace.take({call.pool.num_threads(), attention_tiles_bytes(call.head_width)}, DType::kU8);
  dispatch(out.dtype(), [&]<class O>(O) {
    const Forward<O> forward{call, out, lse, accumulate};
    call.pool.parallel_for_indexed(int64_t(tasks.size()), [&](int64_t i, int thread) {
      forward.run(tasks[size_t(i)], space.row<uint8_t>(thread), thread == 0 && call.progress != nullptr);
    });
  });
}

}  // namespace zoetrope::cpu
#else

int64_t zoetrope::cpu::attention_tiles_bytes(int64_t) { return 0; }
void zoetrope::cpu::attention_by_tiles(const AttentionCall&, const Tensor&, const Tensor&, bool) {
  throw Error("this build has no kernel of attention by tiles");
}
#endif
