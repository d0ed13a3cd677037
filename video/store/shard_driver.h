// A shard's file while HDF5 makes it: HDF5 writes its own records into memory and is told that the payload
// has been written, so that chunks go to disk once, straight from where they are filled. Used by
// video/store/shard_file alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace zoetrope {

/// What HDF5 writes, by address. Nothing here touches a file, so nothing that HDF5 does can fail half way.
class ShardRecords {
 public:
  /// Until the next call the one block of raw data of exactly this size is payload: its address is kept, not
  /// its bytes.
  void expect_payload(size_t bytes) { expected_ = bytes, payload_ = -1; }
  /// Where the payload goes; -1 when HDF5 has not placed it.
  int64_t take_payload();
  /// What HDF5 wrote so far is the file; what it does later, as it closes, isn't.
  void freeze() { frozen_ = true; }

  /// For HDF5: whether raw data of this size is the payload that is expected; notes where it goes.
  bool is_payload(uint64_t address, size_t size);
  /// For HDF5: puts bytes over what is there.
  void write(uint64_t address, const void* data, size_t size);
  /// For HDF5: what was written, zeros elsewhere.
  void read(uint64_t address, void* data, size_t size) const;
  uint64_t end() const { return end_; }  ///< size of the file
  /// For HDF5: the file ends there.
  void set_end(uint64_t end);
  const std::map<uint64_t, std::string>& pieces() const { return pieces_; }  ///< none touches the next

 private:
  std::map<uint64_t, std::string> pieces_;
  uint64_t end_ = 0;
  size_t expected_ = 0;
  int64_t payload_ = -1;
  bool frozen_ = false;
};

/// An access property list of HDF5 by which the next file that is created lies in `records`, which must live
/// as long as the file. One thread at a time. Returns an identifier of the library, negative on failure.
int64_t access_to(ShardRecords& records);

}  // namespace zoetrope
