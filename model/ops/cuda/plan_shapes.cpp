// The part of cuDNN's attention that plans of memory need too: no cuDNN, no toolkit.
#include <bit>

#include "core/check.h"
#include "model/ops/cuda/cudnn_attention.h"

namespace zoetrope::cudnn {
namespace {

int64_t bucketed_rows(int64_t rows) {
  constexpr int64_t kSmallest = 64;  // the fewest rows of a kernel's tile
  if (rows <= kSmallest) return kSmallest;
  const int64_t step = int64_t(std::bit_floor(uint64_t(rows - 1))) / 4;
  return (rows + step - 1) / step * step;
}

}  // namespace

const char* name_of(Pass pass) { return pass == Pass::kForward ? "forward" : "backward"; }

std::string text_of(const AttentionShape& s) {
  return join_message(s.batch, " samples of up to ", s.q_rows, " x ", s.kv_rows, " rows, ", s.num_heads,
                      " heads of ", s.head_width);
}

AttentionShape bucketed(AttentionShape shape) {
  shape.q_rows = bucketed_rows(shape.q_rows);
  shape.kv_rows = bucketed_rows(shape.kv_rows);
  return shape;
}

}  // namespace zoetrope::cudnn
