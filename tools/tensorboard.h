// TensorBoard event files: scalars only, written as length- and checksum-framed records.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

namespace zoetrope {

/// Appends scalars to a new events file in a folder; each call reaches the file before it returns.
/// Source: TFRecord framing and the Event, Summary and Value messages of tensorboard/compat/proto.
class TensorBoardWriter {
 public:
  /// Throws: Error naming the file when it can't be created.
  explicit TensorBoardWriter(const std::string& folder);
  void scalar(std::string_view tag, int64_t step, double value);

 private:
  void event(const std::string& message);
  std::string path_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
};

/// CRC-32C (Castagnoli) of the bytes; the framing stores a masked form.
uint32_t crc32c(std::string_view bytes);

}  // namespace zoetrope
