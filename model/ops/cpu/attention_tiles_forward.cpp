// Forward attention on bf16 by AMX tiles. A task holds up to kTaskQueries queries of one head. Spans of keys
// are packed one after the other; each block of queries walks over the span's blocks of keys: scores by
// tiles, softmax on vectors of sixteen keys, output by tiles.
#include <algorithm>

#include "model/ops/cpu/attention_tiles.h"

#if ZT_TILES
namespace zoetrope::cpu {
namespace {

constexpr int64_t kTaskQueries = 1024;
constexpr int64_t kBlockQueries = 64;
constexpr int64_t kSpanKeys = 512;
constexpr int64_t kBlockKeys = 128;

// |score| is at most |q| |k| scale. Where that is at most kBound in base 2, powers of two of the scores
// themselves serve as weights, without a maximum: they and their sums keep far from f32's ends, 2^-126 and
// 2^127.
constexpr float kBound = 60;

struct Work {
  Work(Space space, int64_t K)
      : width(round_up(K, kTileDepth)),
        keys(space.take<bf16>(kSpanKeys * width)),
        values(space.take<bf16>(kSpanKeys * width)),
        queries(space.take<bf16>(kBlockQueries * width)),
        weights(space.take<bf16>(kBlockQueries * kBlockKeys)),
        scores(space.take<float>(2 * kTile * kBlockKeys)),
        out(space.take<float>(kTaskQueries * width)),
        sums(space.take<float>(kTaskQueries * 16)),
        tops(space.take<float>(kTaskQueries)),
        bounded(space.take<uint8_t>(kTaskQueries / kTile)),
        row(space.take<float>(width)),
        bytes(space.used()) {}
  int64_t width;            // K with zeros behind
  bf16 *keys, *values;      // right tiles of k transposed and of v
  bf16 *queries, *weights;  // left tiles of q and of the probabilities
  float* scores;            // [16, 128] in tiles, of the row at work and of the next
  float* out;               // [1024, width] in tiles
  float *sums, *tops;       // per query: sixteen partial sums; the maximum times scale, in base 2
  uint8_t* bounded;         // per sixteen queries: all scores so far were within kBound, and tops is 0
  float* row;
  int64_t bytes;
};

/// What a query's outputs and sums must be multiplied with, since its maximum rose.
struct Shrink {
  alignas(64) float factor[16];
  bool any;
};

/// Renews the maxima of sixteen queries from `groups` x 32 scores.
Shrink raise_tops(float* tops, const float* scores, int64_t groups, Lanes last, __m512 scale) {
  const __m512 lowest = _mm512_set1_ps(kMinusInfinity);
  const auto larger = [](__m512 a, __m512 b) { return _mm512_max_ps(a, b); };
  __m512 most[16];
  for (int i = 0; i < 16; ++i) {
    const float* s = scores + 16 * i;
    __m512 first = lowest, second = lowest;
    for (int64_t g = 0; g + 1 < groups; ++g, s += 2 * kTileFloats) {
      first = _mm512_max_ps(_mm512_load_ps(s), first);
      second = _mm512_max_ps(_mm512_load_ps(s + kTileFloats), second);
    }
    first = _mm512_mask_max_ps(first, last.first, _mm512_load_ps(s), first);
    second = _mm512_mask_max_ps(second, last.second, _mm512_load_ps(s + kTileFloats), second);
    most[i] = _mm512_max_ps(first, second);
  }
  const __m512 old = _mm512_load_ps(tops);
  const __m512 top = _mm512_max_ps(_mm512_mul_ps(combine_lanes(most, larger), scale), old);
  Shrink shrink;
  shrink.any = _mm512_cmp_ps_mask(top, old, _CMP_NEQ_UQ) != 0;
  _mm512_store_ps(shrink.factor,
                  std::bit_cast<__m512>(simd::exp2<6>(std::bit_cast<simd::F16>(_mm512_sub_ps(old, top)))));
  _mm512_store_ps(tops, top);
  return shrink;
}

/// Probabilities of sixteen queries, times 2^-top, as left tiles; adds to the queries' partial sums.
template <bool kBounded>
void soften(bf16* weights, float* sums, const float* tops, const float* scores, int64_t groups, Lanes last,
            __m512 scale) {
  for (int i = 0; i < 16; ++i) {
    const float* s = scores + 16 * i;
    bf16* p = weights + kTileDepth * i;
    const __m512 top = _mm512_set1_ps(tops[i]);
    const auto power = [&](const float* from, __mmask16 mask) {
      const __m512 score = _mm512_load_ps(from);
      return kBounded ? exp2_bounded(score, scale, mask) : exp2_below(score, scale, top, mask);
    };
    __m512 sum = _mm512_load_ps(sums + 16 * i);
    const auto pair = [&](__mmask16 low, __mmask16 high) {
      const __m512 first = power(s, low), second = power(s + kTileFloats, high);
      sum = _mm512_add_ps(sum, _mm512_add_ps(first, second));
      _mm512_store_si512(p, round_pair(first, second));
    };
    for (int64_t g = 0; g + 1 < groups; ++g, s += 2 * kTileFloats, p += kTileHalves) pair(0xffff, 0xffff);
    pair(last.first, last.second);
    _mm512_store_ps(sums + 16 * i, sum);
  }
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

/// Whether all scores of sixteen packed queries are within kBound; false where anything is NaN.
bool within_bound(const bf16* queries, int64_t width, float largest_key, float scale2) {
  __m512 sum[16];
  for (int64_t i = 0; i < 16; ++i) {
    sum[i] = _mm512_setzero_ps();
    for (int64_t c = 0; c < width / kTileDepth; ++c) {
      const auto pairs =
          std::bit_cast<__m512bh>(_mm512_load_si512(queries + c * kTileHalves + i * kTileDepth));
      sum[i] = _mm512_dpbf16_ps(sum[i], pairs, pairs);
    }
  }
  const __m512 square = combine_lanes(sum, [](__m512 a, __m512 b) { return _mm512_add_ps(a, b); });
  const __m512 reach = _mm512_mul_ps(square, _mm512_set1_ps(largest_key * scale2 * scale2));
  return _mm512_cmp_ps_mask(reach, _mm512_set1_ps(kBound * kBound), _CMP_LE_OQ) == 0xffff;
}

void scale_rows(float* tiles, int64_t count, const float* factor) {
  for (int64_t t = 0; t < count; ++t)
    for (int64_t i = 0; i < 16; ++i, tiles += 16)
      _mm512_store_ps(tiles, _mm512_mul_ps(_mm512_load_ps(tiles), _mm512_set1_ps(factor[i])));
}

template <class O>
struct Forward {
  const AttentionCall& call;
  const Tensor &out, &lse;
  bool accumulate;

  void run(const AttentionTask& task, void* space, bool report) const {
    const Work w(Space(space), call.head_width);
    const TileScope tiles;
    const int64_t queries = task.end - task.begin;
    std::fill_n(w.sums, round_up(queries, kTile) * 16, 0.0f);
    std::fill_n(w.tops, round_up(queries, kTile), kMinusInfinity);
    std::fill_n(w.bounded, round_up(queries, kTile) / kTile, uint8_t(1));
    for (int64_t s = task.item->kv_begin; s < task.item->kv_end; s += kSpanKeys) {
      const int64_t keys = std::min(kSpanKeys, task.item->kv_end - s), padded = round_up(keys, kTileDepth);
      pack_right_transposed(w.keys, head_rows(call.k, s, keys, task.head, call.head_width), padded, w.width);
      pack_right(w.values, head_rows(call.v, s, keys, task.head, call.head_width), padded, w.width);
      const float longest = largest_key(w.keys, padded, w.width);
      for (int64_t b = 0; b < queries; b += kBlockQueries) {
        if (report) call.progress();
        attend(w, task, b, keys, longest, s == task.item->kv_begin);
      }
    }
    for (int64_t b = 0; b < queries; b += kTile) finish(w, task, b);
  }

  /// Queries [b, b + 64) of the task against the packed span of `keys` keys.
  void attend(const Work& w, const AttentionTask& task, int64_t b, int64_t keys, float longest,
              bool first_span) const {
    const int64_t count = std::min(kBlockQueries, task.end - task.begin - b);
    const int64_t rows = (count + kTile - 1) / kTile, depth = w.width / kTileDepth, columns = w.width / kTile;
    const __m512 scale = _mm512_set1_ps(float(double(call.scale) * kLog2e));
    pack_left(w.queries, head_rows(call.q, task.begin + b, count, task.head, call.head_width), rows * kTile,
              w.width);
    for (int64_t r = 0; r < rows; ++r) {
      uint8_t& bounded = w.bounded[b / kTile + r];
      bounded = bounded && within_bound(w.queries + r * kTile * w.width, w.width, longest,
                                        float(double(call.scale) * kLog2e));
      if (bounded && first_span) std::fill_n(w.tops + b + r * kTile, kTile, 0.0f);
    }
    float* out_tiles = w.out + b * w.width;
    for (int64_t s = 0; s < keys; s += kBlockKeys) {
      const int64_t here = std::min(kBlockKeys, keys - s), groups = (here + kTileDepth - 1) / kTileDepth;
      const Lanes last = first_lanes(here - (groups - 1) * kTileDepth);
      const bool first = first_span && s == 0;
      const auto score = [&](int64_t r) {
        multiply_tiles({w.scores + r % 2 * kTile * kBlockKeys, 2 * groups},
                       {w.queries + r * kTile * w.width, depth, 1}, {w.keys + s * w.width, 1, depth}, 1,
                       2 * groups, depth, false);
      };
      score(0);
      for (int64_t r = 0; r < rows; ++r) {
        if (r + 1 < rows) score(r + 1);  // the tiles work on it during the softmax of row r
        const float* scores = w.scores + r % 2 * kTile * kBlockKeys;
        float *tops = w.tops + b + r * kTile, *sums = w.sums + (b + r * kTile) * 16;
        if (w.bounded[b / kTile + r]) {
          soften<true>(w.weights + r * groups * kTileHalves, sums, tops, scores, groups, last, scale);
          continue;
        }
        const Shrink shrink = raise_tops(tops, scores, groups, last, scale);
        if (shrink.any && !first) {
          scale_rows(sums, 1, shrink.factor);
          scale_rows(out_tiles + r * columns * kTileFloats, columns, shrink.factor);
        }
        soften<false>(w.weights + r * groups * kTileHalves, sums, tops, scores, groups, last, scale);
      }
      multiply_tiles({out_tiles, columns}, {w.weights, groups, 1}, {w.values + s * w.width, columns, 1}, rows,
                     columns, groups, !first);
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
      const float* tiles = w.out + b * w.width + i * 16;
      const __m512 inverse = _mm512_set1_ps(total[i] == 0 ? 0.0f : 1.0f / total[i]);
      const float row_lse =
          total[i] == 0 ? kMinusInfinity : w.tops[b + i] / float(kLog2e) + std::log(total[i]);
      for (int64_t c = 0; c < w.width / kTile; ++c)
        _mm512_store_ps(w.row + c * 16,
                        total[i] == 0 ? _mm512_setzero_ps()
                                      : _mm512_mul_ps(_mm512_load_ps(tiles + c * kTileFloats), inverse));
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
