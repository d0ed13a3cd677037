// A 256-bit hash of what a picture looks like, in the manner of PDQ: re-encoded, scaled, blurred or noisy
// copies differ in few bits, mirrored and other pictures in about half. Used by video/analysis/duplicates.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "video/analysis/thumbnail.h"

namespace zoetrope {

/// Bit i of the hash: coefficient i (16 x 16, without the constant ones) lies above their median.
struct FrameHash {
  std::array<uint64_t, 4> bits{};
  bool operator==(const FrameHash&) const = default;
};

/// Hash of a picture. Source: PDQ, "The TMK+PDQF Video-Hashing Algorithm and the PDQ Image-Hashing
/// Algorithm", Facebook 2019: 64 x 64 luma, 16 x 16 of its DCT, median. PDQ smooths with two tent filters
/// where this takes the means of boxes, so the bits are not those of PDQ programs.
FrameHash hash_of(const Thumbnail& thumbnail);
/// PDQ's measure of how much there is to see, 0 to 100; below 50 a hash tells pictures apart no more.
int hash_quality(const Thumbnail& thumbnail);
/// Number of different bits.
int hamming_distance(const FrameHash& a, const FrameHash& b);
/// 64 hexadecimal digits, and back. Throws: Error for other text.
std::string hash_text(const FrameHash& hash);
FrameHash hash_of_text(const std::string& text);

}  // namespace zoetrope
