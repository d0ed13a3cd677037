// The napkin table: bytes and FLOPs that each kernel of the CUDA backend can't do without, and the share of
// the floor that it is to reach. The kernels' sources say the same of an element; a test compares.
//
// Bytes: every input read once, every output written once, += outputs both. FLOPs: 2 per multiply-add.
// Legend as in model/ops/ops.h; compute type bf16.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace zoetrope {

/// Sizes that the kernels are measured at.
struct KernelSizes {
  int64_t tokens = 32760, samples = 1;  ///< of equal lengths
  int64_t width = 1536, heads = 12, ffn = 8960, text_rows = 512, features = 64;
  int64_t parameters = int64_t(1) << 28;  ///< of the optimizer's and the norm's lines
  int64_t ranks = 8;                      ///< of the sum over ranks
  int64_t head_width() const { return width / heads; }
  int64_t sample_tokens() const { return tokens / samples; }
  int64_t rank_slice() const { return parameters / 32; }  ///< elements that a rank sums: 32 MiB of 2^28
};

/// What a kernel waits for: device memory, the tensor cores, or neither alone, and there is no floor.
enum class Bound { kMemory, kMatrix, kNone };

struct Work {
  double bytes = 0, flops = 0;
};

/// One line of the table.
struct KernelNapkin {
  const char* kernel;
  /// Where its comment is: a file of model/ops/cuda and the line's first words; empty: the formula is in no
  /// comment an element.
  const char *source, *label;
  double bytes_an_element;  ///< as in the comment
  Bound bound;
  double goal;  ///< share of the floor; 0: none is set
  Work (*work)(const KernelSizes&);
};

const std::vector<KernelNapkin>& kernel_napkins();
/// Throws: Error when there is none of this name.
const KernelNapkin& napkin_of(const std::string& kernel);

/// y [rows, columns] = x [rows, inner] w^T in bf16.
Work product_work(int64_t rows, int64_t columns, int64_t inner);
/// Forward: scores and values, for tokens x keys pairs. Backward is counted as five products of the same
/// size, as is usual; the own kernels do seven, to need no atomics.
Work attention_forward_work(const KernelSizes& sizes, int64_t keys_of_sample);
/// As above.
Work attention_backward_work(const KernelSizes& sizes, int64_t keys_of_sample);

/// Goals of attention, as shares of the matrix rate.
struct AttentionGoals {
  double forward = 0, backward = 0;  ///< 0: none is set
};

}  // namespace zoetrope
