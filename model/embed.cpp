#include "model/embed.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace zoetrope {
namespace {

/// Host memory.
void store(const Tensor& x, int64_t row, int64_t column, double value) {
  if (x.dtype() == DType::kF64) x.row<double>(row)[column] = value;
  else x.row<float>(row)[column] = float(value);
}

/// Columns of a head that turn with time, height and width.
std::array<int64_t, 3> axis_columns(int64_t head_width) {
  const int64_t side = 2 * (head_width / 6);
  return {head_width - 2 * side, side, side};
}

/// (cos, sin) of the pairs of one axis at positions [0, num_positions), computed in double.
Tensor axis_table(int64_t num_positions, int64_t columns, DType dtype) {
  const Tensor table = Tensor::empty({num_positions, columns}, dtype);
  for (int64_t position = 0; position < num_positions; ++position)
    for (int64_t pair = 0; pair < columns / 2; ++pair) {
      const double angle = double(position) * std::pow(10000.0, -2.0 * double(pair) / double(columns));
      store(table, position, 2 * pair, std::cos(angle));
      store(table, position, 2 * pair + 1, std::sin(angle));
    }
  return table;
}

}  // namespace

void fill_timestep_features(const Tensor& features, const std::vector<double>& timesteps) {
  ZT_CHECK(features.rows() == int64_t(timesteps.size()), "timestep features ", features.shape_text(), " for ",
           timesteps.size(), " segments");
  const int64_t half = features.row_size() / 2;
  const Tensor host = host_twin(features);
  for (int64_t s = 0; s < features.rows(); ++s)
    for (int64_t i = 0; i < half; ++i) {
      const double angle = timesteps[size_t(s)] * std::pow(10000.0, -double(i) / double(half));
      store(host, s, i, std::cos(angle));
      store(host, s, half + i, std::sin(angle));
    }
  from_host(features, host);
}

void fill_rotation(const Tensor& rotation, const MicroBatch& batch) {
  const std::array<int64_t, 3> columns = axis_columns(rotation.row_size());
  std::array<int64_t, 3> largest{};
  for (const Segment& segment : batch.segments)
    for (size_t axis = 0; axis < 3; ++axis) largest[axis] = std::max(largest[axis], segment.grid[axis]);
  std::array<Tensor, 3> tables;
  for (size_t axis = 0; axis < 3; ++axis)
    tables[axis] = axis_table(largest[axis], columns[axis], rotation.dtype());
  const int64_t width = int64_t(size_of(rotation.dtype()));
  const Tensor host = host_twin(rotation);
  for (const Segment& segment : batch.segments) {
    const auto [frames, height, breadth] = segment.grid;
    ZT_CHECK(frames * height * breadth == segment.sample_tokens && segment.begin >= 0 &&
                 segment.end <= segment.sample_tokens,
             "sample ", segment.sample, ": tokens [", segment.begin, ", ", segment.end, ") of ",
             segment.sample_tokens, " in a grid of ", frames, " x ", height, " x ", breadth);
    for (int64_t i = 0; i < segment.num_tokens(); ++i) {
      const int64_t token = segment.begin + i;
      const std::array<int64_t, 3> position{token / (height * breadth), token / breadth % height,
                                            token % breadth};
      char* to = static_cast<char*>(host.raw()) + (segment.row + i) * host.row_stride() * width;
      for (size_t axis = 0; axis < 3; ++axis) {
        const int64_t bytes = columns[axis] * width;
        std::memcpy(to, static_cast<const char*>(tables[axis].raw()) + position[axis] * bytes, size_t(bytes));
        to += bytes;
      }
    }
  }
  from_host(rotation, host);
}

void fill_segment_ids(const Tensor& segment, const MicroBatch& batch) {
  const Tensor host = host_twin(segment);
  int32_t* ids = host.data<int32_t>();
  for (size_t s = 0; s < batch.segments.size(); ++s)
    std::fill_n(ids + batch.segments[s].row, batch.segments[s].num_tokens(), int32_t(s));
  from_host(segment, host);
}

}  // namespace zoetrope
