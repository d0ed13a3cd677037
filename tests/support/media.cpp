#include "tests/support/media.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/check.h"
#include "core/files.h"
#include "tests/support/process.h"
#include "tests/support/small_dataset.h"

namespace zoetrope::testing_support {
namespace {

std::vector<std::string> split_words(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

Finished run_checked(std::vector<std::string> command) {
  const Finished finished = run_process(command);
  std::string line;
  for (const std::string& word : command) line += word + " ";
  ZT_CHECK(finished.exit_code == 0, line, "ended with ", finished.exit_code, ":\n", finished.output);
  return finished;
}

}  // namespace

void run_ffmpeg(const std::string& words) {
  std::vector<std::string> command = {"ffmpeg", "-hide_banner", "-loglevel", "error", "-nostdin", "-y"};
  for (std::string& word : split_words(words)) command.push_back(std::move(word));
  run_checked(command);
}

int64_t OracleFrames::shown_at(double time) const {
  int64_t shown = 0;
  for (size_t i = 0; i < seconds.size(); ++i)
    if (seconds[i] <= time + 1e-6) shown = int64_t(i);  // ffprobe prints microseconds
  return shown;
}

OracleFrames decode_with_ffmpeg(const std::string& path, int64_t width, int64_t height,
                                const std::string& filter) {
  OracleFrames frames;
  const Finished times =
      run_checked({"ffprobe", "-loglevel", "quiet", "-select_streams", "v:0", "-show_entries",
                   "frame=best_effort_timestamp_time", "-of", "csv=p=0", path});
  std::istringstream in(times.output);
  for (std::string line; std::getline(in, line);) {
    // Side data adds lines and commas of its own; "N/A" is a frame without a time, one step after the last.
    const size_t n = frames.seconds.size();
    if (line.starts_with("N/A"))
      frames.seconds.push_back(n < 2 ? double(n) : 2 * frames.seconds[n - 1] - frames.seconds[n - 2]);
    else if (!line.empty() && line.find_first_of("0123456789-") == 0)
      frames.seconds.push_back(std::stod(line));
  }
  const TemporaryFolder folder;
  const std::string raw = folder.path() + "/frames.rgb";
  std::vector<std::string> command = {"ffmpeg",   "-loglevel", "quiet", "-nostdin", "-y",
                                      "-threads", "1",         "-i",    path};
  if (!filter.empty()) command.insert(command.end(), {"-vf", filter});
  const std::string flags = "bicubic+accurate_rnd+full_chroma_int+full_chroma_inp+bitexact";
  command.insert(command.end(), {"-map", "0:v:0", "-fps_mode", "passthrough", "-sws_flags", flags, "-pix_fmt",
                                 "rgb24", "-f", "rawvideo", raw});
  run_checked(command);
  const std::string bytes = read_file(raw);
  const size_t size = size_t(width * height * 3);
  ZT_CHECK(bytes.size() % size == 0 && bytes.size() / size == frames.seconds.size(), path, ": ", bytes.size(),
           " bytes for ", frames.seconds.size(), " frames of ", width, "x", height);
  for (size_t at = 0; at < bytes.size(); at += size) frames.rgb.push_back(bytes.substr(at, size));
  return frames;
}

void write_text(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

}  // namespace zoetrope::testing_support
