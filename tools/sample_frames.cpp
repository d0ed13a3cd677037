#include "tools/sample_frames.h"

#include <algorithm>

namespace zoetrope {

SampleFrames::SampleFrames(const Dataset& dataset, int64_t sample, int64_t most_bytes)
    : dataset_(dataset), sample_(sample), about_(dataset.samples().at(size_t(sample))) {
  const int64_t row_bytes = about_.grid[1] * about_.grid[2] * dataset.features();
  rows_at_a_time_ = std::max<int64_t>(1, most_bytes / std::max<int64_t>(1, row_bytes) - 1);
}

const uint8_t* SampleFrames::frame(int64_t index) {
  ZT_CHECK(index >= 0 && index < num_frames(), "frame ", index, " of ", num_frames());
  const int64_t t = dataset_.patch().t;
  if (index < begin_ || index >= end_) load(index == 0 ? 0 : 1 + (index - 1) / t);
  return piece_.frame(skipped_ + index - begin_);
}

void SampleFrames::load(int64_t first_row) {
  const Patch patch = dataset_.patch();
  const int64_t per_row = about_.grid[1] * about_.grid[2];
  const int64_t rows = std::min(rows_at_a_time_, about_.grid[0] - first_row);
  // The first row of tokens is a single frame; a piece from within a clip gets an empty one before it.
  const int64_t added = first_row > 0 ? 1 : 0;
  const Tokens tokens{{added + rows, about_.grid[1], about_.grid[2]},
                      Tensor::zeros({(added + rows) * per_row, dataset_.features()}, DType::kU8)};
  dataset_.read_tokens(sample_, first_row * per_row, (first_row + rows) * per_row,
                       tokens.tokens.slice_rows(added * per_row, (added + rows) * per_row));
  piece_ = untokenize(tokens, patch, about_.fps);
  skipped_ = added;
  begin_ = frames_of_grid(first_row, patch);
  end_ = frames_of_grid(first_row + rows, patch);
}

std::vector<int64_t> evenly_spaced(int64_t count, int64_t most) {
  const int64_t shown = std::min(count, std::max<int64_t>(most, 0));
  std::vector<int64_t> out;
  for (int64_t i = 0; i < shown; ++i) out.push_back(shown == 1 ? 0 : i * (count - 1) / (shown - 1));
  return out;
}

}  // namespace zoetrope
