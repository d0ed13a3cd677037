#include "core/content_hash.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>

#include "core/check.h"
#include "core/files.h"

namespace zoetrope {
namespace {

constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;  // 2^64 / golden ratio: spreads a word's bits over the product

uint64_t scramble(uint64_t x) {
  x = (x ^ (x >> 32)) * kOdd;
  x = (x ^ (x >> 29)) * kOdd;
  return x ^ (x >> 32);
}

/// Mixes blocks of 32 bytes into the lanes. Those stay in four registers: as one vector, which compilers
/// choose, they would wait for products of 64 bits that AVX2 puts together from parts, a third as fast.
void mix_blocks(uint64_t (&lanes)[4], const char* blocks, size_t count) {
  uint64_t mixed[4];
  std::memcpy(mixed, lanes, sizeof mixed);
  for (size_t k = 0; k < count; ++k) {
    uint64_t words[4];
    std::memcpy(words, blocks + 32 * k, sizeof words);
    for (int i = 0; i < 4; ++i) {
      mixed[i] = std::rotl(mixed[i] ^ words[i], 29) * kOdd;
      asm("" : "+r"(mixed[i]));
    }
  }
  std::memcpy(lanes, mixed, sizeof mixed);
}

}  // namespace

void ContentHash::mix_block(const char* block) { mix_blocks(lanes_, block, 1); }

void ContentHash::add(std::string_view bytes) {
  const size_t held = size_ % 32;
  size_ += bytes.size();
  if (held > 0) {
    const size_t taken = std::min(bytes.size(), 32 - held);
    std::memcpy(tail_ + held, bytes.data(), taken);
    bytes.remove_prefix(taken);
    if (held + taken < 32) return;
    mix_block(tail_);
  }
  mix_blocks(lanes_, bytes.data(), bytes.size() / 32);
  bytes.remove_prefix(bytes.size() / 32 * 32);
  if (!bytes.empty()) std::memcpy(tail_, bytes.data(), bytes.size());
}

uint64_t ContentHash::value() const {
  ContentHash last = *this;
  std::memset(last.tail_ + size_ % 32, 0, 32 - size_ % 32);
  last.mix_block(last.tail_);
  uint64_t out = size_;
  for (uint64_t lane : last.lanes_) out = scramble(out ^ lane) * kOdd;
  return scramble(out);
}

std::string content_hash(std::string_view bytes) {
  ContentHash hash;
  hash.add(bytes);
  return hex64(hash.value());
}

std::string file_content_hash(const std::string& path) {
  const OpenFile file(path, OpenFile::Mode::kRead);
  constexpr size_t kBuffer = 1 << 20;
  const auto buffer = std::make_unique<char[]>(kBuffer);
  ContentHash hash;
  while (const size_t n = file.read_some(buffer.get(), kBuffer)) hash.add({buffer.get(), n});
  return hex64(hash.value());
}

}  // namespace zoetrope
