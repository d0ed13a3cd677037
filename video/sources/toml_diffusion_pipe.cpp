// The data-set TOML of diffusion-pipe.
// Source: diffusion-pipe, examples/dataset.toml and utils/dataset.py (DirectoryDataset).
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "core/check.h"
#include "video/sources/toml_keys.h"

namespace zoetrope {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> kKnown = {"resolutions",
                                         "frame_buckets",
                                         "num_repeats",
                                         "caption_prefix",
                                         "skip_empty_caption",
                                         "shuffle_tags",
                                         "cache_shuffle_num",
                                         "cache_shuffle_delimiter",
                                         "path",
                                         "mask_path",
                                         "control_path",
                                         "default_mask_file",
                                         "size_buckets",
                                         "subsample_ratio",
                                         "directory"};
const std::vector<UnneededKey> kUnneeded = {
    {"enable_ar_bucket", "clips keep their own aspect at the area of 'resolutions'"},
    {"min_ar", "clips keep their own aspect"},
    {"max_ar", "clips keep their own aspect"},
    {"num_ar_buckets", "clips keep their own aspect"},
    {"ar_buckets", "clips keep their own aspect"},
    {"shuffle_metadata", "training shuffles by itself"},
    {"online_captions", "captions.json is read in any case"}};

/// The first of the folder's table and the whole file that has a key.
const TomlTable& place_of(const TomlTable& directory, const TomlTable& root, const std::string& key) {
  return directory.has(key) ? directory : root;
}

void refuse_what_cannot_be(const TomlTable& directory, const TomlTable& root) {
  for (const char* key : {"mask_path", "default_mask_file"})
    if (directory.has(key))
      directory.refuse(key, "masked training isn't there; remove it to train on whole frames");
  if (directory.has("control_path")) directory.refuse("control_path", "control videos can't be used");
  for (const char* key : {"size_buckets", "subsample_ratio"}) {
    const TomlTable& place = place_of(directory, root, key);
    if (place.has(key))
      place.refuse(key, std::string(key) == "size_buckets"
                            ? "sizes are not given by buckets here; use resolutions and frame_buckets"
                            : "a part of a data set can't be chosen; remove files or the key");
  }
  const TomlTable& tags = place_of(directory, root, "shuffle_tags");
  if (tags.flag("shuffle_tags").value_or(false)) tags.refuse("shuffle_tags", "captions are kept as written");
  const TomlTable& shuffle = place_of(directory, root, "cache_shuffle_num");
  if (shuffle.integer("cache_shuffle_num").value_or(0) != 0)
    shuffle.refuse("cache_shuffle_num", "captions are kept as written; set it to 0");
}

/// An area and how its clips are called apart; no suffix for a single one.
struct Resolution {
  int64_t area = 0;
  std::string suffix;
};

std::vector<Resolution> resolutions_of(const TomlTable& place) {
  std::vector<Resolution> out;
  std::set<int64_t> seen;
  const auto rows = place.rows("resolutions").value_or(std::vector<std::vector<double>>{});
  for (const auto& row : rows) {
    const bool good = (row.size() == 1 || row.size() == 2) &&
                      std::all_of(row.begin(), row.end(), [](double n) { return n >= 1 && n <= 1 << 15; });
    if (!good) place.refuse("resolutions", "expected side lengths or [width, height] pairs");
    const int64_t area = std::llround(row.size() == 2 ? row[0] * row[1] : row[0] * row[0]);
    if (!seen.insert(area).second) continue;  // as there: equal areas are one
    const std::string name = row.size() == 2 ? join_message(row[0], "x", row[1]) : join_message(row[0]);
    out.push_back({area, rows.size() == 1 ? "" : "@" + name});
  }
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.area < b.area; });
  return out;
}

/// The longest bucket, which no clip is longer than; 0 without one for videos.
int64_t most_frames(const TomlTable& place, std::vector<std::string>& notes) {
  const auto buckets = place.integers("frame_buckets").value_or(std::vector<int64_t>{});
  int64_t most = 0;
  for (int64_t frames : buckets) {
    if (frames < 1 || frames > 1 << 20) place.refuse("frame_buckets", "expected numbers of frames");
    most = std::max(most, frames);
  }
  if (buckets.empty()) return 0;
  notes.push_back(join_message(
      place.where("frame_buckets"), ": clips keep their own length",
      most > 1 ? join_message(", and longer ones are cut to the longest bucket, ", most, " frames") : "",
      "; none is dropped for being shorter than a bucket"));
  return most > 1 ? most : 0;
}

void multiply(IngestPlan& plan, const std::vector<Resolution>& resolutions) {
  std::vector<PlannedSource> sources;
  for (const PlannedSource& source : plan.sources)
    for (const Resolution& resolution : resolutions) {
      sources.push_back(source);
      sources.back().rules.area = resolution.area;
      for (PlannedClip& clip : sources.back().clips) clip.name += resolution.suffix;
    }
  plan.sources = std::move(sources);
}

IngestPlan plan_directory(const TomlTable& directory, const TomlTable& root, const std::string& path,
                          IngestPlanOptions options) {
  std::vector<std::string> notes;
  FoundFiles files = find_files(path);
  keep_direct_files(files);
  const std::string captions = "captions.json";
  const bool has_captions =
      std::find(files.tables.begin(), files.tables.end(), captions) != files.tables.end();
  files.tables.clear();
  if (has_captions) files.tables = {captions};
  options.layout = has_captions ? Layout::kTable : Layout::kSidecar;
  options.captions = {false, ".txt"};
  options.each_alternative = true;
  options.picture_folders = PictureFolders::kPictures;
  const TomlTable& skip = place_of(directory, root, "skip_empty_caption");
  const bool skips = skip.flag("skip_empty_caption").value_or(true);
  options.missing = skips ? MissingCaption::kSkip : MissingCaption::kEmpty;
  IngestPlan plan = plan_found(files, options);
  const std::string prefix = place_of(directory, root, "caption_prefix").text("caption_prefix").value_or("");
  const int64_t most = most_frames(place_of(directory, root, "frame_buckets"), notes);
  for (PlannedSource& source : plan.sources) {
    source.rules.upscale = true;
    source.rules.most_frames = most;
    for (PlannedClip& clip : source.clips) {
      // A caption file that is there and empty is a caption there; only a missing one is skipped.
      if (clip.skipped && clip.refused == "its caption file is empty") {
        clip.skipped = false;
        clip.refused.clear();
      }
      if (clip.refused.empty()) clip.caption = prefix + clip.caption;
    }
  }
  const auto resolutions = resolutions_of(place_of(directory, root, "resolutions"));
  if (!resolutions.empty()) multiply(plan, resolutions);
  else notes.push_back(directory.where("path") + ": no resolutions; --area decides");
  set_repeats(plan, repeats_of(place_of(directory, root, "num_repeats"), "num_repeats", 1));
  plan.notes = std::move(notes);
  return plan;
}

}  // namespace

IngestPlan plan_diffusion_pipe(const TomlTable& root, const std::string& folder,
                               const IngestPlanOptions& options) {
  const auto directories = root.tables("directory");
  refuse_unknown_keys(root, kKnown, kUnneeded);
  JoinedPlans joined(directories.size() == 1);
  std::vector<std::string> notes = {
      "diffusion-pipe: only files right in each path are read; clips without a caption file follow "
      "skip_empty_caption (true unless set); smaller clips are enlarged; frames are taken at --fps"};
  note_unneeded(root, kUnneeded, notes);
  for (const TomlTable& directory : directories) {
    refuse_unknown_keys(directory, kKnown, kUnneeded);
    refuse_what_cannot_be(directory, root);
    note_unneeded(directory, kUnneeded, notes);
    const std::string written = directory.text("path").value_or("");
    if (written.empty()) directory.refuse("path", "missing; it names the folder of clips");
    const std::string path = find_named(folder, written);
    std::error_code error;  // a name too long for the file system is in no folder
    if (!fs::is_directory(path, error)) directory.refuse("path", "no such folder");
    joined.add(path, plan_directory(directory, root, path, options));
  }
  IngestPlan plan = joined.take();
  plan.notes.insert(plan.notes.begin(), notes.begin(), notes.end());
  return plan;
}

}  // namespace zoetrope
