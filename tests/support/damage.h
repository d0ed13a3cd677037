// Files of tests made bad on purpose: cut, with flipped bits, or with other bytes inside a box of MP4.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace zoetrope::testing_support {

/// A seed that is ZT_TEST_SEED when that is set, else a new one each time. Print it with every failure.
uint64_t test_seed();

/// Flips one bit.
void flip_bit(std::string& bytes, size_t at, int bit);
/// Changes all bytes of a part of the file, given in percent of its length.
void scramble(std::string& bytes, int from_percent, int to_percent);
/// Writes numbers as most containers do, the high byte first.
void put_big_endian(std::string& bytes, size_t at, uint64_t value, int size);
/// Adds `content` at the end of the MP4 box at the end of this path of names, e.g. {"moov", "trak"}, and
/// corrects the sizes of all boxes above. The file's media must come before its index.
void append_to_box(std::string& bytes, const std::vector<std::string>& path, const std::string& content);
/// Where the content of a box of this name starts, at or after `from`; an Error when there is none.
size_t find_box(const std::string& bytes, const std::string& name, size_t from = 0);
/// A PNG picture's header alone, of any size.
std::string png_header(uint32_t width, uint32_t height);

}  // namespace zoetrope::testing_support
