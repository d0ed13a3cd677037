#include "video/store/shard_driver.h"

#include <hdf5.h>
#if __has_include(<H5FDdevelop.h>)
#include <H5FDdevelop.h>
#endif

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

namespace zoetrope {
namespace {

/// What HDF5 holds of an open file; it fills in `base` itself.
struct OpenRecords {
  H5FD_t base;
  ShardRecords* records;
};

ShardRecords* next_to_open = nullptr;

ShardRecords& records_of(const H5FD_t* file) { return *reinterpret_cast<const OpenRecords*>(file)->records; }

H5FD_t* open_records(const char*, unsigned, hid_t, haddr_t) {
  auto* file = new OpenRecords{};
  file->records = std::exchange(next_to_open, nullptr);
  return &file->base;
}
herr_t close_records(H5FD_t* file) {
  delete reinterpret_cast<OpenRecords*>(file);
  return 0;
}

/// As HDF5's own files in memory have it: what decides where things lie.
herr_t query(const H5FD_t*, unsigned long* flags) {
  if (flags != nullptr)
    *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
             H5FD_FEAT_AGGREGATE_SMALLDATA;
  return 0;
}

haddr_t end_of(const H5FD_t* file, H5FD_mem_t) { return records_of(file).end(); }
herr_t set_end(H5FD_t* file, H5FD_mem_t, haddr_t end) {
  records_of(file).set_end(end);
  return 0;
}
herr_t read(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, size_t size, void* data) {
  records_of(file).read(address, data, size);
  return 0;
}
herr_t write(H5FD_t* file, H5FD_mem_t kind, hid_t, haddr_t address, size_t size, const void* data) {
  if (kind != H5FD_MEM_DRAW || !records_of(file).is_payload(address, size))
    records_of(file).write(address, data, size);
  return 0;
}

/// There is nothing to lock; but of files whose driver can, the library marks that they are being written.
herr_t lock(H5FD_t*, hbool_t) { return 0; }
herr_t unlock(H5FD_t*) { return 0; }

hid_t register_driver() {
  H5FD_class_t driver = {};
#ifdef H5FD_CLASS_VERSION
  driver.version = H5FD_CLASS_VERSION;
  driver.value = H5FD_class_value_t(600);  // of those that the HDF Group leaves to everybody
#endif
  driver.name = "zoetrope-shard";
  driver.maxaddr = haddr_t(std::numeric_limits<int64_t>::max());
  driver.fc_degree = H5F_CLOSE_WEAK;
  driver.open = open_records;
  driver.close = close_records;
  driver.query = query;
  driver.get_eoa = end_of;
  driver.set_eoa = set_end;
  driver.get_eof = end_of;
  driver.read = read;
  driver.write = write;
  driver.lock = lock;
  driver.unlock = unlock;
  constexpr H5FD_mem_t kKinds[H5FD_MEM_NTYPES] = H5FD_FLMAP_DICHOTOMY;
  std::copy(std::begin(kKinds), std::end(kKinds), driver.fl_map);
  return H5FDregister(&driver);
}

}  // namespace

int64_t ShardRecords::take_payload() {
  expected_ = 0;
  return std::exchange(payload_, -1);
}

void ShardRecords::set_end(uint64_t end) {
  if (!frozen_) end_ = end;
}

bool ShardRecords::is_payload(uint64_t address, size_t size) {
  if (frozen_ || expected_ == 0 || size != expected_) return false;
  payload_ = int64_t(address);
  return true;
}

void ShardRecords::write(uint64_t address, const void* data, size_t size) {
  if (frozen_ || size == 0) return;
  // Joined with every piece that it overlaps or touches.
  auto first = pieces_.upper_bound(address);
  if (first != pieces_.begin() && std::prev(first)->first + std::prev(first)->second.size() >= address)
    --first;
  const uint64_t begin = first == pieces_.end() ? address : std::min(address, first->first);
  uint64_t end = address + size;
  auto last = first;
  for (; last != pieces_.end() && last->first <= address + size; ++last)
    end = std::max(end, last->first + last->second.size());
  std::string joined = first != last && first->first == begin ? std::move(first->second) : std::string();
  joined.resize(size_t(end - begin));
  for (auto piece = first; piece != last; ++piece)
    if (piece->first != begin) piece->second.copy(&joined[size_t(piece->first - begin)], std::string::npos);
  std::memcpy(&joined[size_t(address - begin)], data, size);
  pieces_.erase(first, last);
  pieces_.emplace(begin, std::move(joined));
}

void ShardRecords::read(uint64_t address, void* data, size_t size) const {
  auto* to = static_cast<uint8_t*>(data);
  std::fill_n(to, size, uint8_t(0));
  auto piece = pieces_.upper_bound(address);
  if (piece != pieces_.begin()) --piece;
  for (; piece != pieces_.end() && piece->first < address + size; ++piece) {
    const uint64_t begin = std::max(address, piece->first),
                   end = std::min(address + size, piece->first + piece->second.size());
    if (begin < end)
      std::memcpy(to + (begin - address), &piece->second[size_t(begin - piece->first)], size_t(end - begin));
  }
}

int64_t access_to(ShardRecords& records) {
  static const hid_t driver = register_driver();
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  if (driver < 0 || access < 0) return -1;
  next_to_open = &records;
  if (H5Pset_driver(access, driver, nullptr) >= 0) return access;
  H5Pclose(access);
  return -1;
}

}  // namespace zoetrope
