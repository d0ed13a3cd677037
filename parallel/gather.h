// One plain value of every rank, in rank order.
#pragma once

#include <cstring>
#include <type_traits>
#include <vector>

#include "parallel/comm.h"

namespace zoetrope {

/// Every rank's `mine`; called on all ranks.
template <class T>
std::vector<T> gather_values(Comm& comm, const T& mine) {
  static_assert(std::is_trivially_copyable_v<T>);
  const std::vector<std::byte> bytes = comm.all_gather(&mine, sizeof mine);
  std::vector<T> all(size_t(comm.size()));
  std::memcpy(static_cast<void*>(all.data()), bytes.data(), bytes.size());
  return all;
}

}  // namespace zoetrope
