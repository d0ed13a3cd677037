// Media files for tests, made by the ffmpeg command, and its own decode of them as the oracle.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace zoetrope::testing_support {

/// Runs ffmpeg with these words, e.g. "-f lavfi -i testsrc2=s=64x64:r=16 -frames:v 49 OUT"; quotes are not
/// read, so a word can't hold a blank. Throws: Error with ffmpeg's output when it fails.
void run_ffmpeg(const std::string& words);

/// Presentation times and RGB pictures of all frames, as the ffmpeg command decodes them with one thread and
/// rotates them; converted by the project's own conversion, so that a right frame is equal bit for bit.
struct OracleFrames {
  std::vector<double> seconds;
  std::vector<std::string> rgb;
  /// Number of the frame shown at this time: the last one not after it.
  int64_t shown_at(double time) const;
};
/// `filter`: an optional -vf chain. Shapes: each picture is height * width * 3 bytes.
OracleFrames decode_with_ffmpeg(const std::string& path, int64_t width, int64_t height,
                                const std::string& filter = "");

/// Writes a text file.
void write_text(const std::string& path, const std::string& text);

}  // namespace zoetrope::testing_support
