// The data-set TOML of musubi-tuner.
// Source: musubi-tuner, docs/dataset_config.md and dataset/image_video_dataset.py.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "core/check.h"
#include "video/media/media_file.h"
#include "video/sources/frame_extraction.h"
#include "video/sources/toml_keys.h"

namespace zoetrope {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> kGeneral = {"resolution", "caption_extension", "num_repeats", "enable_bucket",
                                           "bucket_no_upscale"};
const std::vector<std::string> kDatasets = {
    "resolution",         "caption_extension", "num_repeats",        "enable_bucket",
    "bucket_no_upscale",  "video_directory",   "video_jsonl_file",   "image_directory",
    "image_jsonl_file",   "target_frames",     "frame_extraction",   "frame_stride",
    "frame_sample",       "max_frames",        "source_fps",         "control_directory",
    "multiple_target",    "no_resize_control", "control_resolution", "fp_1f_clean_indices",
    "fp_1f_target_index", "fp_1f_no_post"};
const std::vector<UnneededKey> kUnneeded = {{"batch_size", "training packs clips by tokens"},
                                            {"cache_directory", "DATASET takes its place"},
                                            {"skip_corrupted_cache", "there is no cache"},
                                            {"debug_dataset", "zoetrope inspect --export shows the frames"},
                                            {"fp_latent_window_size", "only FramePack has it"}};

/// The endings that musubi-tuner looks for.
bool is_video_there(const std::string& path) {
  constexpr const char* kEndings[] = {".mp4", ".webm", ".avi", ".mkv", ".mov",
                                      ".flv", ".wmv",  ".m4v", ".mpg", ".mpeg"};
  return std::find(std::begin(kEndings), std::end(kEndings), extension_of(path)) != std::end(kEndings);
}

void refuse_what_cannot_be(const TomlTable& set) {
  for (const char* key :
       {"control_directory", "control_resolution", "fp_1f_clean_indices", "fp_1f_target_index"})
    if (set.has(key)) set.refuse(key, "control pictures and videos can't be used");
  for (const char* key : {"multiple_target", "no_resize_control", "fp_1f_no_post"})
    if (set.flag(key).value_or(false)) set.refuse(key, "control pictures and several targets can't be used");
}

int64_t at_least_one(const TomlTable& set, const char* key, int64_t otherwise) {
  const int64_t value = set.integer(key).value_or(otherwise);
  if (value < 1 || value > 1 << 20) set.refuse(key, "expected a number of frames, at least 1");
  return value;
}

FrameExtraction extraction_of(const TomlTable& set) {
  FrameExtraction out;
  out.mode = set.text("frame_extraction").value_or("head");
  constexpr const char* kModes[] = {"head", "chunk", "slide", "uniform", "full"};
  if (std::find(std::begin(kModes), std::end(kModes), out.mode) == std::end(kModes))
    set.refuse("frame_extraction", "expected head, chunk, slide, uniform or full");
  out.target_frames = set.integers("target_frames").value_or(std::vector<int64_t>{1});
  for (int64_t frames : out.target_frames)
    if (frames < 1 || frames > 1 << 20) set.refuse("target_frames", "expected numbers of frames, at least 1");
  if (out.target_frames.empty()) set.refuse("target_frames", "expected at least one number");
  out.stride = at_least_one(set, "frame_stride", 1);
  out.samples = at_least_one(set, "frame_sample", 1);
  out.most = at_least_one(set, "max_frames", 129);
  return out;
}

/// Target rate over source rate: the share of frames that is kept.
Ratio keep_of(const TomlTable& set, double fps, std::vector<std::string>& notes) {
  if (!set.has("source_fps")) {
    notes.push_back(join_message(set.where("frame_extraction"),
                                 ": without source_fps every frame counts, "
                                 "whatever its time; the data set calls them frames at --fps ",
                                 fps));
    return {1, 1};
  }
  if (set.is_integer("source_fps"))
    set.refuse("source_fps", "musubi-tuner takes a decimal number only; write it with a point, like 30.0");
  const double source = set.number("source_fps").value_or(0);
  if (!(source >= fps && source <= 1000))
    set.refuse("source_fps", join_message("below --fps ", fps,
                                          "; frames are left out there, never repeated, so "
                                          "leave the key out or lower --fps"));
  const Ratio from = ratio_of_fps(source), to = ratio_of_fps(fps);
  notes.push_back(join_message(set.where("source_fps"), ": of the frames, ", fps, " of each ", source,
                               " are kept, by their number"));
  return {to.num * from.den, to.den * from.num};
}

/// Cuts a video's clip into spans of frames.
class Cutter {
 public:
  Cutter(FrameExtraction extraction, Ratio keep) : extraction_(std::move(extraction)), keep_(keep) {}

  void cut(PlannedSource& source) {
    if (source.clips.empty() || !source.clips[0].refused.empty()) return;
    int64_t frames = 0;
    try {
      frames = count_frames(source.location);
    } catch (const Error& error) {
      for (PlannedClip& clip : source.clips)
        clip.refused = join_message("its frames can't be counted: ", error.what());
      return;
    }
    const int64_t kept = frames == 0 ? 0 : (frames - 1) * keep_.num / keep_.den + 1;
    const std::vector<FrameSpan> spans = kept == 0 ? std::vector<FrameSpan>{} : spans_of(extraction_, kept);
    std::vector<PlannedClip> clips;
    for (PlannedClip& clip : source.clips) {
      if (spans.empty())
        clip.refused = join_message("it has ", kept, " frames, fewer than any of target_frames");
      for (const FrameSpan& span : spans) clips.push_back(part_of(clip, span));
    }
    if (!clips.empty()) source.clips = std::move(clips);
    const auto targets = rounded_targets(extraction_.target_frames);
    if (!spans.empty() && extraction_.mode != "full" && kept < targets.back()) ++short_;
  }
  /// Videos that were too short for the longest of several targets.
  int64_t num_short() const { return short_; }

 private:
  PlannedClip part_of(const PlannedClip& clip, const FrameSpan& span) const {
    PlannedClip part = clip;
    char suffix[64];
    std::snprintf(suffix, sizeof suffix, "#%05lld-%03lld", static_cast<long long>(span.first),
                  static_cast<long long>(span.count));
    part.name += suffix;
    part.window = {};
    part.window.first_frame = span.first;
    part.window.num_frames = span.count;
    part.window.keep = keep_;
    part.has_window = true;
    return part;
  }

  FrameExtraction extraction_;
  Ratio keep_;
  int64_t short_ = 0;
};

/// The settings of one [[datasets]] table, with those of [general] below them.
struct Settings {
  const TomlTable& set;
  const TomlTable* general;
  const TomlTable& place(const std::string& key) const {
    return set.has(key) || general == nullptr ? set : *general;
  }
};

SourceRules rules_of(const Settings& settings) {
  SourceRules rules;
  const TomlTable& place = settings.place("resolution");
  std::vector<double> size;
  for (const auto& row : place.rows("resolution").value_or(std::vector<std::vector<double>>{{960}, {544}}))
    size.insert(size.end(), row.begin(), row.end());
  if (size.size() == 1) size.push_back(size[0]);
  const auto is_side = [](double side) { return side >= 1 && side <= 1 << 15; };  // TOML has nan
  if (size.size() != 2 || !is_side(size[0]) || !is_side(size[1]))
    place.refuse("resolution", "expected [width, height] or one number");
  rules.area = std::llround(size[0] * size[1]);
  const bool buckets = settings.place("enable_bucket").flag("enable_bucket").value_or(false);
  const bool keeps_small = settings.place("bucket_no_upscale").flag("bucket_no_upscale").value_or(false);
  rules.upscale = !(buckets && keeps_small);
  return rules;
}

/// The media of a folder or a JSON-lines file, with their captions.
IngestPlan plan_media(const Settings& settings, const std::string& key, const std::string& path,
                      IngestPlanOptions options, std::vector<std::string>& notes) {
  if (key.ends_with("_jsonl_file")) return plan_table(path, options);
  const bool videos = key == "video_directory";
  FoundFiles files = find_files(path);
  keep_direct_files(files);
  std::erase_if(files.media, [&](const FoundFile& media) {
    const bool other =
        media.location.is_part() || (videos ? !is_video_there(media.path) : !has_picture_name(media.path));
    if (other) files.ignored.push_back(media.path);
    return other;
  });
  const TomlTable& place = settings.place("caption_extension");
  options.captions = {false, place.text("caption_extension").value_or(".txt")};
  if (!place.has("caption_extension"))
    notes.push_back(settings.set.where(key) + ": no caption_extension; .txt is taken");
  if (extension_of("x" + options.captions.extension) != options.captions.extension)
    place.refuse("caption_extension", "expected an ending like .txt");
  options.layout = Layout::kSidecar;
  options.picture_folders = PictureFolders::kPictures;
  files.tables.clear();
  std::erase_if(files.ignored, [&](const std::string& file) {
    const bool is_caption = file.ends_with(options.captions.extension);
    if (is_caption) files.captions.push_back(file);
    return is_caption;
  });
  return plan_found(files, options);
}

std::string source_key(const TomlTable& set) {
  std::string found;
  for (const char* key : {"video_directory", "video_jsonl_file", "image_directory", "image_jsonl_file"}) {
    if (!set.has(key)) continue;
    if (!found.empty()) set.refuse(key, "there is '" + found + "' as well; expected one of them");
    found = key;
  }
  if (found.empty())
    set.refuse("video_directory",
               "missing; expected video_directory, video_jsonl_file, image_directory or "
               "image_jsonl_file");
  return found;
}

IngestPlan plan_set(const Settings& settings, const std::string& key, const std::string& path,
                    IngestPlanOptions options, std::vector<std::string>& notes) {
  if (options.picture_fps == 0)
    options.picture_fps = options.fps;  // frames of a folder are counted, not timed
  IngestPlan plan = plan_media(settings, key, path, options, notes);
  const SourceRules rules = rules_of(settings);
  for (PlannedSource& source : plan.sources) source.rules = rules;
  if (key.starts_with("video")) {
    Cutter cutter(extraction_of(settings.set), keep_of(settings.set, options.fps, notes));
    for (PlannedSource& source : plan.sources) cutter.cut(source);
    if (cutter.num_short() > 0)
      plan.warnings.push_back(join_message(cutter.num_short(),
                                           " videos are too short for the longest of "
                                           "target_frames and give only the shorter clips"));
  }
  set_repeats(plan, repeats_of(settings.place("num_repeats"), "num_repeats", 1));
  return plan;
}

}  // namespace

IngestPlan plan_musubi(const TomlTable& root, const std::string& folder, const IngestPlanOptions& options) {
  refuse_unknown_keys(root, {"general", "datasets"}, {});
  const auto general = root.table("general");
  const auto sets = root.tables("datasets");
  JoinedPlans joined(sets.size() == 1);
  std::vector<std::string> notes = {
      "musubi-tuner: only files right in each folder are read; clips keep their own aspect at the area of "
      "resolution, and are enlarged to it unless bucket_no_upscale; frames are those of --fps"};
  if (general) {
    refuse_unknown_keys(*general, kGeneral, kUnneeded);
    note_unneeded(*general, kUnneeded, notes);
  }
  for (const TomlTable& set : sets) {
    refuse_unknown_keys(set, kDatasets, kUnneeded);
    refuse_what_cannot_be(set);
    note_unneeded(set, kUnneeded, notes);
    const std::string key = source_key(set), path = find_named(folder, *set.text(key));
    const bool is_folder = key.ends_with("_directory");
    std::error_code error;  // a name too long for the file system is in no folder
    if (is_folder ? !fs::is_directory(path, error) : !fs::is_regular_file(path, error))
      set.refuse(key, is_folder ? "no such folder" : "no such file");
    joined.add(path, plan_set({set, general ? &*general : nullptr}, key, path, options, notes));
  }
  IngestPlan plan = joined.take();
  plan.notes.insert(plan.notes.begin(), notes.begin(), notes.end());
  return plan;
}

}  // namespace zoetrope
