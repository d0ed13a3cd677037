#include <map>

#include "tests/simt/include/simt_launch.h"

namespace simt {
namespace {
std::map<const void*, int> most_shared_bytes;
}

cudaError_t set_most_shared_bytes(const void* kernel, int bytes) {
  most_shared_bytes[kernel] = bytes;
  return cudaSuccess;
}

cudaError_t launch(const void* kernel, LaunchShape shape, cudaStream_t, std::function<void()> thread_body) {
  const auto raised = most_shared_bytes.find(kernel);
  if (raised != most_shared_bytes.end()) shape.max_dynamic_shared_bytes = size_t(raised->second);
  run(shape, thread_body, order_seed());
  return cudaSuccess;
}

}  // namespace simt
