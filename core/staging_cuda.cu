#include "core/staging_cuda.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>

#include "core/cuda_check.h"

namespace zoetrope {
namespace {

constexpr size_t kRingBytes = size_t(32) << 20;  // 1 ms of PCIe 4.0 x16 at 25 GB/s
constexpr size_t kPartBytes = size_t(4) << 20;   // the host fills one part while the others are under way

}  // namespace

Staging::Staging() {
  void* memory = nullptr;
  ZT_CUDA(cudaMallocHost(&memory, kRingBytes));
  memory_ = static_cast<char*>(memory);
}

void Staging::forget_uploaded() {
  while (!under_way_.empty()) {
    const cudaError_t status = cudaEventQuery(under_way_.front().uploaded);
    if (status == cudaErrorNotReady) {
      (void)cudaGetLastError();
      return;
    }
    ZT_CUDA(status);
    spare_.push_back(under_way_.front().uploaded);
    under_way_.pop_front();
  }
}

size_t Staging::take(size_t bytes) {
  const size_t begin = head_ + bytes <= kRingBytes ? head_ : 0, end = begin + bytes;
  forget_uploaded();
  // Parts lie in the ring in the order of the queue: those before the last one in the way are done first.
  size_t in_the_way = 0;
  for (size_t i = 0; i < under_way_.size(); ++i)
    if (under_way_[i].begin < end && begin < under_way_[i].end) in_the_way = i + 1;
  for (; in_the_way > 0; --in_the_way) {
    ZT_CUDA(cudaEventSynchronize(under_way_.front().uploaded));
    spare_.push_back(under_way_.front().uploaded);
    under_way_.pop_front();
  }
  head_ = (end + 63) / 64 * 64;
  return begin;
}

void Staging::upload_part(const RowBlock& to, const RowBlock& from, cudaStream_t stream) {
  const size_t bytes = to.row_bytes * to.rows, begin = take(bytes);
  for (size_t r = 0; r < from.rows; ++r)
    std::memcpy(memory_ + begin + r * from.row_bytes,
                static_cast<const char*>(from.data) + r * from.stride_bytes, from.row_bytes);
  // A part of one row may come from a tensor above 2 GiB, whose stride is more than a pitch may be.
  if (to.rows == 1) {
    ZT_CUDA(cudaMemcpyAsync(to.data, memory_ + begin, to.row_bytes, cudaMemcpyHostToDevice, stream));
  } else {
    ZT_CUDA(cudaMemcpy2DAsync(to.data, to.stride_bytes, memory_ + begin, to.row_bytes, to.row_bytes, to.rows,
                              cudaMemcpyHostToDevice, stream));
  }
  cudaEvent_t uploaded = nullptr;
  if (spare_.empty()) {
    ZT_CUDA(cudaEventCreateWithFlags(&uploaded, cudaEventDisableTiming));
  } else {
    uploaded = spare_.back();
    spare_.pop_back();
  }
  under_way_.push_back({begin, begin + bytes, uploaded});
  ZT_CUDA(cudaEventRecord(uploaded, stream));
}

void Staging::upload(const RowBlock& to, const RowBlock& from, cudaStream_t stream) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto part = [](const RowBlock& block, size_t row, size_t rows, size_t byte, size_t bytes) {
    return RowBlock{static_cast<char*>(block.data) + row * block.stride_bytes + byte,
                    std::max(block.stride_bytes, bytes), bytes, rows};
  };
  const size_t rows_at_once = std::max<size_t>(1, kPartBytes / to.row_bytes);
  const size_t bytes_at_once = std::min(to.row_bytes, kPartBytes);
  for (size_t row = 0; row < to.rows; row += rows_at_once)
    for (size_t byte = 0; byte < to.row_bytes; byte += bytes_at_once) {
      const size_t rows = std::min(rows_at_once, to.rows - row);
      const size_t bytes = std::min(bytes_at_once, to.row_bytes - byte);
      upload_part(part(to, row, rows, byte, bytes), part(from, row, rows, byte, bytes), stream);
    }
}

namespace {

struct Rings {
  std::mutex mutex;
  std::map<int, std::unique_ptr<Staging>> of_device;
};
Rings& rings() {
  // Left alive at exit: the driver may be gone before destructors of static objects run.
  static Rings& all = *new Rings;
  return all;
}

}  // namespace

Staging& staging_of_device() {
  int device = 0;
  ZT_CUDA(cudaGetDevice(&device));
  const std::lock_guard<std::mutex> lock(rings().mutex);
  std::unique_ptr<Staging>& ring = rings().of_device[device];
  if (!ring) ring = std::make_unique<Staging>();
  return *ring;
}

void renew_staging() {
  const std::lock_guard<std::mutex> lock(rings().mutex);
  rings().of_device.clear();
}

}  // namespace zoetrope
