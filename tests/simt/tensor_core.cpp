// ldmatrix and mma for a whole warp at once, from the operands that the lanes left in their frames.
#include <algorithm>
#include <cstring>

#include "core/dtype.h"
#include "tests/simt/include/simt_ptx.h"
#include "tests/simt/machine.h"
#include "tests/simt/sanitizer.h"

namespace simt {
namespace {

constexpr unsigned kAllLanes = 0xffffffffu;
constexpr int kRows = 8, kRowBytes = 16;

struct LoadArguments {
  int matrices;
  const unsigned char* row;  // that the lane's address names
  uint32_t* values;
};
struct ProductArguments {
  float* d;
  const uint32_t *a, *b;
};

/// Passes over shared memory that 8 rows of 16 bytes take: rows in the same eighth of the 128-byte bank line
/// must take turns, unless they are the same row.
int wavefronts(const unsigned char* const (&rows)[kRows]) {
  int most = 1;
  for (int i = 0; i < kRows; ++i) {
    int turns = 1;
    for (int j = 0; j < i; ++j) {
      const bool same_banks = (rows[i] - rows[j]) % (kRows * kRowBytes) == 0;
      const bool seen = std::find(rows, rows + j, rows[j]) != rows + j || rows[j] == rows[i];
      turns += same_banks && !seen;
    }
    most = std::max(most, turns);
  }
  return most;
}

template <bool kTransposed>
void complete_load(const WarpCall& call) {
  const auto lane_arguments = [&](int lane) { return static_cast<LoadArguments*>(call.arguments[lane]); };
  const int matrices = lane_arguments(0)->matrices;
  for (int matrix = 0; matrix < matrices; ++matrix) {
    const unsigned char* rows[kRows];
    for (int r = 0; r < kRows; ++r) rows[r] = lane_arguments(matrix * kRows + r)->row;
    uint16_t elements[kRows][kRows];
    for (int r = 0; r < kRows; ++r) __builtin_memcpy(elements[r], rows[r], kRowBytes);
    for (int lane = 0; lane < kLanes; ++lane) {
      const int r = lane / 4, c = lane % 4 * 2;
      const uint16_t low = kTransposed ? elements[c][r] : elements[r][c];
      const uint16_t high = kTransposed ? elements[c + 1][r] : elements[r][c + 1];
      lane_arguments(lane)->values[matrix] = uint32_t(high) << 16 | low;
    }
    machine.stats.extra_wavefronts += uint64_t(wavefronts(rows) - 1);
  }
  machine.stats.matrix_loads += uint64_t(matrices);
}

float low(uint32_t pair) { return std::bit_cast<float>(pair << 16); }
float high(uint32_t pair) { return std::bit_cast<float>(pair & 0xffff0000u); }

using Row = float __attribute__((vector_size(32)));  // 8 columns

void complete_product(const WarpCall& call) {
  float a[16][16];
  Row b[16], d[16];
  for (int lane = 0; lane < kLanes; ++lane) {
    const auto& mine = *static_cast<ProductArguments*>(call.arguments[lane]);
    const int g = lane / 4, t = lane % 4 * 2;
    for (int part = 0; part < 4; ++part) {
      float* to = &a[g + part % 2 * 8][t + part / 2 * 8];
      to[0] = low(mine.a[part]), to[1] = high(mine.a[part]);
    }
    for (int part = 0; part < 2; ++part) {
      b[t + part * 8][g] = low(mine.b[part]);
      b[t + part * 8 + 1][g] = high(mine.b[part]);
      d[g + part * 8][t] = mine.d[part * 2];
      d[g + part * 8][t + 1] = mine.d[part * 2 + 1];
    }
  }
  for (int row = 0; row < 16; ++row) {
    // Products of bf16 are exact in f32; only the sums round.
    Row sum = d[row];
    for (int k = 0; k < 16; ++k) sum += a[row][k] * b[k];
    d[row] = sum;
  }
  for (int lane = 0; lane < kLanes; ++lane) {
    float* to = static_cast<ProductArguments*>(call.arguments[lane])->d;
    const int g = lane / 4, t = lane % 4 * 2;
    for (int part = 0; part < 4; ++part) to[part] = d[g + part / 2 * 8][t + part % 2];
  }
  ++machine.stats.matrix_products;
}

const Operation kLoads[] = {{"ldmatrix.x1", complete_load<false>},
                            {"ldmatrix.x2", complete_load<false>},
                            {"ldmatrix.x4", complete_load<false>}};
const Operation kTransposedLoads[] = {{"ldmatrix.x1.trans", complete_load<true>},
                                      {"ldmatrix.x2.trans", complete_load<true>},
                                      {"ldmatrix.x4.trans", complete_load<true>}};
const Operation kProduct = {"mma.m16n8k16", complete_product};

}  // namespace

void load_matrices(int matrices, bool transposed, uint32_t* values, uint32_t address, Site site) {
  const Operation& operation = (transposed ? kTransposedLoads : kLoads)[matrices / 2];
  LoadArguments arguments{matrices, nullptr, values};
  if (machine.current->lane() < matrices * kRows) {  // addresses of other lanes are not read
    void* row = shared_pointer(address, kRowBytes, operation.name, site);
    sanitizer::read(row, kRowBytes, __builtin_return_address(0));
    arguments.row = static_cast<const unsigned char*>(row);
  }
  meet(operation, kAllLanes, &arguments, site);
}

void multiply_matrices(float* d, const uint32_t* a, const uint32_t* b, Site site) {
  ProductArguments arguments{d, a, b};
  meet(kProduct, kAllLanes, &arguments, site);
}

}  // namespace simt
