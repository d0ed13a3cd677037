#include "tools/tensorboard.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>

#include "core/check.h"

namespace zoetrope {
namespace {

constexpr std::array<uint32_t, 256> make_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) ? 0x82F63B78u : 0u);
    table[i] = value;
  }
  return table;
}

template <class T>
std::string little_endian(T value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes.push_back(char(value | 0x80));
  bytes.push_back(char(value));
  return bytes;
}

std::string length_delimited(int field, std::string_view content) {
  return varint(uint64_t(field) << 3 | 2) + varint(content.size()) + std::string(content);
}

uint32_t masked(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }

std::string wall_time() { return varint(1 << 3 | 1) + little_endian(double(std::time(nullptr))); }

}  // namespace

uint32_t crc32c(std::string_view bytes) {
  static constexpr std::array<uint32_t, 256> kTable = make_table();
  uint32_t crc = ~0u;
  for (char c : bytes) crc = kTable[(crc ^ uint8_t(c)) & 0xff] ^ (crc >> 8);
  return ~crc;
}

TensorBoardWriter::TensorBoardWriter(const std::string& folder) : file_(nullptr, &std::fclose) {
  std::filesystem::create_directories(folder);
  path_ = folder + "/events.out.tfevents." + std::to_string(std::time(nullptr)) + "." +
          std::to_string(getpid()) + ".zoetrope";
  file_.reset(std::fopen(path_.c_str(), "ab"));
  ZT_REQUIRE(file_, "can't create '", path_, "': ", std::strerror(errno));
  event(wall_time() + length_delimited(3, "brain.Event:2"));
}

void TensorBoardWriter::scalar(std::string_view tag, int64_t step, double value) {
  const std::string entry = length_delimited(1, tag) + varint(2 << 3 | 5) + little_endian(float(value));
  event(wall_time() + varint(2 << 3) + varint(uint64_t(step)) +
        length_delimited(5, length_delimited(1, entry)));
}

void TensorBoardWriter::event(const std::string& message) {
  const std::string length = little_endian(uint64_t(message.size()));
  const std::string record =
      length + little_endian(masked(crc32c(length))) + message + little_endian(masked(crc32c(message)));
  const bool written = std::fwrite(record.data(), 1, record.size(), file_.get()) == record.size() &&
                       std::fflush(file_.get()) == 0;
  ZT_REQUIRE(written, "can't write '", path_, "': ", std::strerror(errno));
}

}  // namespace zoetrope
