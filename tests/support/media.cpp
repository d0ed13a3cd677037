#include "tests/support/media.h"

extern "C" {
#include <libavutil/imgutils.h>
#include <libavutil/pixdesc.h>
}

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "core/check.h"
#include "core/files.h"
#include "tests/support/process.h"
#include "tests/support/small_dataset.h"
#include "video/media/libav.h"
#include "video/pixels/resize.h"

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

/// Pixel format and colour tags of the first presented frame, as ffprobe names them.
std::map<std::string, std::string> tags_of(const std::string& path) {
  const Finished printed = run_checked(
      {"ffprobe", "-loglevel", "quiet", "-select_streams", "v:0", "-read_intervals", "%+#64", "-show_entries",
       "frame=pix_fmt,color_range,color_space,chroma_location", "-of", "default=noprint_wrappers=1", path});
  std::istringstream in(printed.output);
  std::map<std::string, std::string> tags;
  for (std::string line; std::getline(in, line);)
    if (const size_t equals = line.find('='); equals != std::string::npos)
      tags.emplace(line.substr(0, equals), line.substr(equals + 1));
  return tags;
}

/// All pictures in the coded pixel format, one after another.
std::string raw_frames(const std::string& path, const std::string& filter) {
  const TemporaryFolder folder;
  const std::string raw = folder.path() + "/frames.raw";
  std::vector<std::string> command = {"ffmpeg",   "-loglevel", "quiet", "-nostdin", "-y",
                                      "-threads", "1",         "-i",    path};
  if (!filter.empty()) command.insert(command.end(), {"-vf", filter});
  command.insert(command.end(), {"-map", "0:v:0", "-fps_mode", "passthrough", "-f", "rawvideo", raw});
  run_checked(command);
  return read_file(raw);
}

/// The number that libav has for a tag's name; `unknown` when it has none.
int tag_value(const std::map<std::string, std::string>& tags, const char* key, int (*number_of)(const char*),
              int unknown) {
  const auto found = tags.find(key);
  const int number = found == tags.end() ? -1 : number_of(found->second.c_str());
  return number < 0 ? unknown : number;
}

/// Converts raw pictures of one size by the project's own conversion, which tests/video/convert_test checks.
std::vector<std::string> convert_all(const std::string& raw, const std::map<std::string, std::string>& tags,
                                     int64_t width, int64_t height) {
  const libav::Frame frame = libav::new_frame();
  frame->width = int(width);
  frame->height = int(height);
  frame->format = av_get_pix_fmt(tags.at("pix_fmt").c_str());
  frame->color_range = AVColorRange(tag_value(tags, "color_range", av_color_range_from_name, 0));
  frame->colorspace =
      AVColorSpace(tag_value(tags, "color_space", av_color_space_from_name, AVCOL_SPC_UNSPECIFIED));
  frame->chroma_location =
      AVChromaLocation(tag_value(tags, "chroma_location", av_chroma_location_from_name, 0));
  const int size = av_image_get_buffer_size(AVPixelFormat(frame->format), int(width), int(height), 1);
  ZT_CHECK(size > 0 && raw.size() % size_t(size) == 0, raw.size(), " bytes are no ", tags.at("pix_fmt"),
           " pictures of ", width, "x", height);
  std::vector<std::string> out;
  for (size_t at = 0; at < raw.size(); at += size_t(size)) {
    av_image_fill_arrays(frame->data, frame->linesize, reinterpret_cast<const uint8_t*>(raw.data()) + at,
                         AVPixelFormat(frame->format), int(width), int(height), 1);
    std::string rgb(size_t(width * height * 3), '\0');
    FrameConverter converter({{1, 1, 1}, width * height, false});
    converter.convert(*frame, nullptr, {1, 1}, reinterpret_cast<uint8_t*>(rgb.data()));
    out.push_back(std::move(rgb));
  }
  return out;
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
  frames.rgb = convert_all(raw_frames(path, filter), tags_of(path), width, height);
  ZT_CHECK(frames.rgb.size() == frames.seconds.size(), path, ": ", frames.rgb.size(), " pictures and ",
           frames.seconds.size(), " times");
  return frames;
}

void write_text(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

}  // namespace zoetrope::testing_support
