// Page-locked memory through which uploads pass, so that the host never waits for them. For CUDA sources
// alone.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <deque>
#include <mutex>
#include <vector>

#include "core/device_backend.h"

namespace zoetrope {

// Note [Staged uploads]: a copy from ordinary memory would wait for its stream before it starts. So the bytes
// are first copied into a ring of page-locked memory, and the upload reads from there; the part is free again
// when the event after the upload is complete, and only a full ring makes the host wait.

/// One such ring, of one device; the device is the calling thread's at every call. Never destroyed.
class Staging {
 public:
  Staging();
  /// In stream order; `from` may change as soon as this returns.
  void upload(const RowBlock& to, const RowBlock& from, cudaStream_t stream);

 private:
  struct Part {
    size_t begin, end;
    cudaEvent_t uploaded;
  };
  /// Without a wait: small parts would pile up until the ring comes round.
  void forget_uploaded();
  /// Room of `bytes`, after waiting for the parts that lie there.
  size_t take(size_t bytes);
  void upload_part(const RowBlock& to, const RowBlock& from, cudaStream_t stream);

  std::mutex mutex_;
  char* memory_ = nullptr;
  size_t head_ = 0;
  std::deque<Part> under_way_;  ///< oldest first
  std::vector<cudaEvent_t> spare_;
};

/// The ring of the calling thread's device.
Staging& staging_of_device();
/// From now on every device gets a new ring: for `register_device`, before which nothing is under way.
void renew_staging();

}  // namespace zoetrope
