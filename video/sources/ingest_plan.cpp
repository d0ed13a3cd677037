#include "video/sources/ingest_plan.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "core/check.h"
#include "video/sources/captions.h"
#include "video/sources/plan_parts.h"

namespace zoetrope {
namespace {

namespace fs = std::filesystem;

using Read = LayoutReading (*)(const FoundFiles&, const CaptionRules&);
constexpr Read kReaders[] = {read_sidecars, read_split_folders, read_parallel_lists, read_tables};

/// What all layouts, or the one that was asked for, offer.
class Readings {
 public:
  Readings(FoundFiles& files, const IngestPlanOptions& options) : files_(files), options_(options) {
    // Tables and lists first: they tell which folders of pictures are clips.
    for (Layout layout : {Layout::kLists, Layout::kTable}) read(layout);
    std::set<std::string> named;
    for (const auto& [layout, reading] : readings_)
      for (const CaptionOffer& offer : reading.offers) named.insert(offer.media);
    remarks_ = fold_frame_folders(files, named, options.picture_folders, options.picture_fps);
    for (Layout layout : {Layout::kSidecar, Layout::kSplit}) read(layout);
  }

  std::vector<CaptionOffer> offers() const {
    std::vector<CaptionOffer> out;
    for (const auto& [layout, reading] : readings_)
      out.insert(out.end(), reading.offers.begin(), reading.offers.end());
    return out;
  }
  std::vector<std::string> notes() const {
    std::vector<std::string> out = remarks_;
    for (const auto& [layout, reading] : readings_)
      out.insert(out.end(), reading.notes.begin(), reading.notes.end());
    return out;
  }
  /// Caption files (not tables) that no layout used, and other files that weren't read.
  std::vector<std::string> unmatched(int64_t& ignored) const {
    std::set<std::string> used;
    for (const auto& [layout, reading] : readings_) used.insert(reading.used.begin(), reading.used.end());
    std::vector<std::string> out;
    for (const std::string& path : files_.captions) {
      if (used.count(path) > 0) continue;
      if (extension_of(path) == ".json" || options_.layout == Layout::kTable) ++ignored;
      else out.push_back(path);
    }
    for (const std::string& path : files_.tables)
      ignored += used.count(path) == 0 && extension_of(path) != ".json";
    return out;
  }

 private:
  void read(Layout layout) {
    if (!options_.layout || *options_.layout == layout)
      readings_[layout] = kReaders[int(layout)](files_, options_.captions);
  }

  FoundFiles& files_;
  const IngestPlanOptions& options_;
  std::map<Layout, LayoutReading> readings_;
  std::vector<std::string> remarks_;
};

/// What lies beside clips and might have been meant as their captions: "12 *.srt".
std::string possible_captions(const FoundFiles& files, const std::vector<std::string>& unmatched) {
  std::set<std::string> stems;
  for (const FoundFile& media : files.media) stems.insert(without_extension(media.path));
  std::map<std::string, int64_t> endings;
  for (const auto* list : {&files.ignored, &files.captions, &files.tables})
    for (const std::string& path : *list)
      if (stems.count(without_extension(path)) > 0) ++endings["*" + extension_of(path)];
  std::string out;
  for (const auto& [ending, count] : endings)
    out += join_message(out.empty() ? "" : ", ", count, " ", ending, " beside clips of the same name");
  if (!unmatched.empty())
    out += join_message(out.empty() ? "" : ", ", unmatched.size(),
                        " caption files of other names than any clip's: ", name_list(unmatched));
  return out;
}

/// Where captions are but none belongs to a clip, something was meant that isn't understood.
void require_some_caption(const FoundFiles& files, const IngestPlan& plan, const IngestPlanOptions& options) {
  const PairingReport& pairing = plan.pairing;
  if (options.missing != MissingCaption::kError || pairing.clips == 0 ||
      pairing.without_caption < pairing.clips)
    return;
  const std::string found = possible_captions(files, pairing.unmatched);
  ZT_REQUIRE(
      found.empty(), "none of ", pairing.clips, " clips below '", files.root,
      "' has a caption, but there are ", found,
      ". Expected: clip.txt, clip.caption or clip.json (with a field caption, prompt, text or cap) beside "
      "clip.mp4, metas/clip.txt for videos/clip.mp4, prompts.txt with videos.txt, or a table "
      "(metadata.csv, *.jsonl, captions.json); rename them, or say --missing-caption empty, filename or "
      "skip");
}

IngestPlan plan_folder(const std::string& source, const IngestPlanOptions& options) {
  FoundFiles files = find_files(source);
  IngestPlan plan = plan_found(files, options);
  plan.roots = {source};
  return plan;
}

}  // namespace

IngestPlan plan_found(FoundFiles& files, const IngestPlanOptions& options) {
  const Readings readings(files, options);
  const std::vector<CaptionOffer> offers = readings.offers();
  IngestPlan plan = pair_offers(files, offers, options);
  plan.ignored_files = int64_t(files.ignored.size());
  plan.pairing.unmatched = readings.unmatched(plan.ignored_files);
  require_some_caption(files, plan, options);
  for (const std::string& note : readings.notes()) plan.warnings.push_back(note);
  const PairingReport& pairing = plan.pairing;
  if (!pairing.unmatched.empty())
    plan.warnings.push_back(join_message(pairing.unmatched.size(),
                                         " text files belong to no clip: ", name_list(pairing.unmatched)));
  if (!pairing.shared.empty())
    plan.warnings.push_back(join_message(
        pairing.shared.size(),
        " text files are the caption of several media of the same stem: ", name_list(pairing.shared)));
  if (pairing.with_alternatives > 0 && !options.each_alternative)
    plan.warnings.push_back(join_message(pairing.with_alternatives,
                                         " clips have several captions, of which the first is taken; "
                                         "--alternatives each makes a clip for each of them"));
  if (pairing.several_lines > 0)
    plan.warnings.push_back(join_message(pairing.several_lines,
                                         " caption files have several lines, which are read as one caption; "
                                         "--caption-lines split reads each line as a caption of its own"));
  return plan;
}

std::string reading_text(const IngestPlanOptions& options) {
  std::string out;
  const auto add = [&](bool there, const std::string& word) {
    if (there) out += (out.empty() ? "" : " ") + word;
  };
  add(options.layout.has_value(), options.layout ? name_of(*options.layout) : "");
  add(options.captions.split_lines, "split-lines");
  add(options.each_alternative, "each-alternative");
  add(options.picture_folders == PictureFolders::kClip, "folders-are-clips");
  add(options.picture_folders == PictureFolders::kPictures, "folders-hold-pictures");
  add(options.picture_fps > 0, join_message("pictures-at-", options.picture_fps));
  return out;
}

MissingCaption missing_caption_of(const std::string& name) {
  if (name == "error") return MissingCaption::kError;
  if (name == "skip") return MissingCaption::kSkip;
  if (name == "empty") return MissingCaption::kEmpty;
  if (name == "filename") return MissingCaption::kFilename;
  throw UsageError(join_message("--missing-caption '", name, "': expected error, skip, empty or filename"));
}

IngestPlan plan_ingest(const std::string& source, const IngestPlanOptions& options) {
  std::error_code error;
  const std::string ending = extension_of(source);
  const bool is_file = fs::is_regular_file(source, error);
  IngestPlan plan;
  if (fs::is_directory(source, error)) {
    plan = plan_folder(source, options);
  } else if (is_file && ending == ".toml") {
    plan = plan_dataset_toml(source, options);
  } else if (is_file && ending == ".tar") {
    FoundFiles files = find_members(source);
    plan = plan_found(files, options);
  } else if (is_file && (ending == ".csv" || ending == ".jsonl" || ending == ".json")) {
    plan = plan_table(source, options);
  } else {
    throw UsageError(join_message("SOURCE '", source,
                                  is_file ? "' is a file of another kind" : "' is not there",
                                  "; expected a folder, a data set's .toml (diffusion-pipe, musubi-tuner), a "
                                  "table (.csv, .jsonl, .json) or a .tar archive"));
  }
  count_repeated_captions(plan);
  refuse_equal_names(plan);
  return plan;
}

}  // namespace zoetrope
