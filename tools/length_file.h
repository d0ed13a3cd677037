// Sample lengths from a text file, for `zoetrope plan` without a data set.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace zoetrope {

/// Reads one number a line, a CSV file whose header names a column `tokens`, or an object with a key `tokens`
/// a line (JSON lines). Throws: Error naming file:line on anything that is no positive whole number, and on
/// an empty file.
std::vector<int64_t> read_length_file(const std::string& path);

}  // namespace zoetrope
