#include "core/arena.h"

#include <algorithm>

namespace zoetrope {

Arena::Arena(int64_t bytes, Device device, std::string purpose)
    : storage_(allocate(size_t(padded(bytes)), device)),
      device_(device),
      purpose_(std::move(purpose)),
      reserved_(padded(bytes)) {}

void Arena::reserve(int64_t bytes) {
  ZT_CHECK(reserved_ == 0 && top_ == 0, "arena '", purpose_, "' already has ", reserved_, " bytes");
  storage_ = allocate(size_t(padded(bytes)), device_);
  reserved_ = padded(bytes);
}

Tensor Arena::take(std::initializer_list<int64_t> shape, DType dtype) {
  Tensor tensor = Tensor::wrap(static_cast<char*>(storage_.get()) + top_, shape, dtype, device_);
  const int64_t needed = top_ + padded(tensor.bytes());
  ZT_REQUIRE(needed <= reserved_, purpose_, ": the memory model reserved ", reserved_, " bytes, ", needed,
             " are needed for ", tensor.shape_text(),
             "; this is a fault of the memory model, please report it with the config");
  top_ = needed;
  high_water_ = std::max(high_water_, top_);
  return tensor;
}

void Arena::release(int64_t mark) {
  ZT_CHECK(0 <= mark && mark <= top_, "arena released to ", mark, " above its top ", top_);
  top_ = mark;
}

}  // namespace zoetrope
