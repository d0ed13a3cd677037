#include "tools/clip_files.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "core/check.h"
#include "core/files.h"
#include "tools/text_format.h"
#include "video/media/encode.h"

namespace zoetrope {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr int64_t kGap = kPictureGap, kSheetFrames = 16, kFrameBox = 320, kStripHeight = 120,
                  kStripWidth = 160;

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  ZT_REQUIRE(!error, "can't make the folder '", folder.string(), "': ", error.message());
}

/// Leaves no picture of an earlier, longer export.
void remove_numbered_pictures(const fs::path& folder) {
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    if (entry.is_regular_file() && name.ends_with(".png") &&
        name.find_first_not_of("0123456789") == name.size() - 4)
      fs::remove(entry.path());
  }
}

/// A part of a path that leaves room for endings within the usual limit of 255 bytes.
std::string fitting_part(const std::string& part) {
  constexpr size_t kMost = 230, kKept = 200;
  if (part.size() <= kMost) return part;
  size_t end = kKept;
  while (end > 0 && (uint8_t(part[end]) & 0xc0) == 0x80) --end;  // not within a UTF-8 character
  return part.substr(0, end) + "-" + hex64(fnv1a(part));
}

using TimeBase = std::array<int64_t, 2>;

/// The source's tick that `seconds`, a double, was made from; null when no whole number can be told.
Json exact_pts(double seconds, const TimeBase& time_base) {
  if (time_base[0] <= 0 || time_base[1] <= 0) return nullptr;
  const double ticks = std::round(seconds * double(time_base[1]) / double(time_base[0]));
  // Four roundings of 2^-53 each, as a share: together below half a tick.
  constexpr double kMostTicks = double(int64_t(1) << 50);
  return std::abs(ticks) < kMostTicks ? Json(int64_t(ticks)) : Json(nullptr);
}

Json frame_json(const std::string& file, const FrameSource& source, const TimeBase& time_base) {
  const Json pts = exact_pts(source.source_seconds, time_base);
  return {{"file", file},
          {"pts", pts},
          {"time_base", pts.is_null() ? Json(nullptr) : Json(time_base)},
          {"source_seconds", source.source_seconds},
          {"output_seconds", source.output_seconds},
          {"source_index", source.source_index}};
}

void export_clip(const Dataset& dataset, int64_t sample, const TimeBase& time_base, const fs::path& folder) {
  make_folder(folder);
  remove_numbered_pictures(folder);
  SampleFrames frames(dataset, sample);
  const std::vector<FrameSource> sources = dataset.read_sources(sample);
  Json list = Json::array();
  for (int64_t t = 0; t < frames.num_frames(); ++t) {
    const std::string file = format_text("%06lld.png", static_cast<long long>(t));
    write_png((folder / file).string(), frames.frame(t), frames.height(), frames.width());
    list.push_back(frame_json(file, sources.at(size_t(t)), time_base));
  }
  write_file_atomically((folder / "frames.json").string(), list.dump(1) + "\n");
}

/// Up to sixteen frames of one clip.
Picture frame_sheet(const Dataset& dataset, int64_t sample) {
  SampleFrames frames(dataset, sample, 0);
  std::vector<Picture> pictures;
  for (const int64_t t : evenly_spaced(frames.num_frames(), kSheetFrames))
    pictures.push_back(shrink_to_fit(frames.frame(t), frames.height(), frames.width(), kFrameBox, kFrameBox));
  return picture_grid(pictures, int64_t(std::ceil(std::sqrt(double(pictures.size())))));
}

}  // namespace

std::string clip_place(const std::string& name) {
  const fs::path path(name);
  ZT_REQUIRE(path.is_relative() && !name.empty(), "clip name '", name, "' leads out of the folder");
  fs::path place;
  for (const fs::path& part : path) {
    ZT_REQUIRE(part != ".." && part != "." && !part.empty(), "clip name '", name,
               "' leads out of the folder");
    place /= fitting_part(part);
  }
  return place;
}

void export_frames(const Dataset& dataset, const std::vector<ManifestEntry>& entries,
                   const std::vector<int64_t>& samples, const std::string& folder) {
  std::map<std::string, TimeBase> time_bases;
  for (const ManifestEntry& entry : entries) time_bases[entry.name] = entry.facts.time_base;
  Json clips = Json::array();
  for (const int64_t sample : samples) {
    const DatasetSample& about = dataset.samples().at(size_t(sample));
    const std::string place = clip_place(about.name);
    export_clip(dataset, sample, time_bases[about.name], fs::path(folder) / place);
    clips.push_back({{"name", about.name},
                     {"folder", place},
                     {"frames", about.num_frames},
                     {"width", about.width},
                     {"height", about.height},
                     {"fps", about.fps},
                     {"tokens", about.num_tokens},
                     {"caption", about.caption}});
  }
  const Patch patch = dataset.patch();
  const Json summary = {{"version", 1},
                        {"fingerprint", dataset.fingerprint()},
                        {"fps", dataset.fps()},
                        {"patch", {patch.t, patch.h, patch.w}},
                        {"clips", clips}};
  make_folder(folder);
  write_file_atomically(folder + "/frames.json",
                        summary.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
}

std::string write_playable(const Dataset& dataset, int64_t sample, const std::string& mp4_path) {
  SampleFrames frames(dataset, sample);
  if (const fs::path parent = fs::path(mp4_path).parent_path(); !parent.empty()) make_folder(parent);
  Clip shape;
  shape.num_frames = frames.num_frames();
  shape.height = frames.height();
  shape.width = frames.width();
  shape.fps = frames.about().fps;
  const std::string encoder = write_mp4(mp4_path, shape, [&](int64_t index) { return frames.frame(index); });
  write_sheet(dataset, {sample}, mp4_path.substr(0, mp4_path.size() - 4) + ".png");
  return encoder;
}

std::vector<Picture> first_middle_last(const Dataset& dataset, int64_t sample, int64_t box_height,
                                       int64_t box_width) {
  SampleFrames frames(dataset, sample, 0);
  std::vector<Picture> pictures;
  for (const int64_t t : evenly_spaced(frames.num_frames(), 3))
    pictures.push_back(
        shrink_to_fit(frames.frame(t), frames.height(), frames.width(), box_height, box_width));
  return pictures;
}

Picture picture_grid(const std::vector<Picture>& pictures, int64_t columns) {
  int64_t cell_height = 0, cell_width = 0;
  for (const Picture& picture : pictures) {
    cell_height = std::max(cell_height, picture.height);
    cell_width = std::max(cell_width, picture.width);
  }
  const int64_t rows = (int64_t(pictures.size()) + columns - 1) / columns;
  Picture grid;
  grid.height = rows * (cell_height + kGap) + kGap;
  grid.width = columns * (cell_width + kGap) + kGap;
  grid.pixels.assign(size_t(grid.height * grid.width * 3), kPictureBackground);
  for (size_t i = 0; i < pictures.size(); ++i)
    paste(grid, pictures[i], kGap + int64_t(i) / columns * (cell_height + kGap),
          kGap + int64_t(i) % columns * (cell_width + kGap));
  return grid;
}

void write_sheet(const Dataset& dataset, const std::vector<int64_t>& samples, const std::string& path) {
  ZT_REQUIRE(!samples.empty(), "'", path, "': the data set has no clip to show");
  std::vector<Picture> strips;
  if (samples.size() > 1)
    for (const int64_t sample : samples)
      strips.push_back(side_by_side(first_middle_last(dataset, sample, kStripHeight, kStripWidth)));
  const Picture sheet = samples.size() > 1
                            ? picture_grid(strips, std::min<int64_t>(3, int64_t(strips.size())))
                            : frame_sheet(dataset, samples.front());
  write_png(path, sheet.pixels.data(), sheet.height, sheet.width);
}

}  // namespace zoetrope
