#include "tests/support/damage.h"

#include <cstdlib>

#include "core/check.h"

namespace zoetrope::testing_support {
namespace {

uint64_t big_endian(const std::string& bytes, size_t at, int size) {
  uint64_t value = 0;
  for (int i = 0; i < size; ++i) value = value << 8 | uint8_t(bytes[at + size_t(i)]);
  return value;
}

/// The checksum of PNG's chunks.
uint32_t png_checksum(const std::string& bytes) {
  uint32_t sum = ~0u;
  for (const char c : bytes) {
    sum ^= uint8_t(c);
    for (int i = 0; i < 8; ++i) sum = sum >> 1 ^ (0xedb88320u & (0u - (sum & 1)));
  }
  return ~sum;
}

std::string png_chunk(const std::string& name_and_content) {
  std::string out(4, '\0');
  put_big_endian(out, 0, name_and_content.size() - 4, 4);
  out += name_and_content + std::string(4, '\0');
  put_big_endian(out, out.size() - 4, png_checksum(name_and_content), 4);
  return out;
}

}  // namespace

uint64_t test_seed() {
  const char* given = std::getenv("ZT_TEST_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
}

void flip_bit(std::string& bytes, size_t at, int bit) { bytes[at] = char(uint8_t(bytes[at]) ^ (1u << bit)); }

void scramble(std::string& bytes, int from_percent, int to_percent) {
  for (size_t at = bytes.size() * size_t(from_percent) / 100; at < bytes.size() * size_t(to_percent) / 100;
       ++at)
    bytes[at] = char(bytes[at] ^ 0x5a);
}

void put_big_endian(std::string& bytes, size_t at, uint64_t value, int size) {
  for (int i = 0; i < size; ++i) bytes[at + size_t(i)] = char(uint8_t(value >> (8 * (size - 1 - i))));
}

void append_to_box(std::string& bytes, const std::vector<std::string>& path, const std::string& content) {
  size_t begin = 0, end = bytes.size();
  std::vector<size_t> starts;
  for (const std::string& name : path) {
    size_t at = begin;
    while (at + 8 <= end && bytes.compare(at + 4, 4, name) != 0) at += size_t(big_endian(bytes, at, 4));
    ZT_CHECK(at + 8 <= end, "no box '", name, "'");
    starts.push_back(at);
    begin = at + 8;
    end = at + size_t(big_endian(bytes, at, 4));
  }
  for (const size_t start : starts)
    put_big_endian(bytes, start, big_endian(bytes, start, 4) + content.size(), 4);
  bytes.insert(end, content);
}

size_t find_box(const std::string& bytes, const std::string& name, size_t from) {
  const size_t at = bytes.find(name, from);
  ZT_CHECK(at != std::string::npos, "no box '", name, "'");
  return at + name.size();
}

std::string png_header(uint32_t width, uint32_t height) {
  std::string header = "IHDR" + std::string(8, '\0') + std::string("\x08\x02\x00\x00\x00", 5);
  put_big_endian(header, 4, width, 4);
  put_big_endian(header, 8, height, 4);
  // Sixteen zero bytes, compressed: far less than the header promises.
  const std::string data("\x78\x9c\x63\x60\xc0\x0f\x00\x00\x10\x00\x01", 11);
  return "\x89PNG\r\n\x1a\n" + png_chunk(header) + png_chunk("IDAT" + data) + png_chunk("IEND");
}

}  // namespace zoetrope::testing_support
