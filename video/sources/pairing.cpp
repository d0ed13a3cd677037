#include "video/sources/pairing.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "core/check.h"
#include "video/store/manifest.h"

namespace zoetrope {
namespace {

namespace fs = std::filesystem;
using Offers = std::vector<const CaptionOffer*>;

/// Clips about which layouts disagree.
struct Conflicts {
  std::vector<std::string> clips;
  std::map<std::string, std::string> candidates;  ///< layout -> an example
};

class Pairing {
 public:
  Pairing(const FoundFiles& files, const std::vector<CaptionOffer>& offers, const IngestPlanOptions& options)
      : files_(files), options_(options) {
    for (const CaptionOffer& offer : offers) {
      by_media_[offer.media].push_back(&offer);
      if (offer.from == offer.file) owners_[offer.file].insert(offer.media);
      if (offer.by_case) by_case_.insert(offer.file);
      if (offer.has_lines && !options.captions.split_lines) several_lines_.insert(offer.file);
    }
  }

  IngestPlan plan() {
    for (const FoundFile& file : files_.media) plan_.sources.push_back(plan_file(file));
    for (const auto& [path, offers] : by_media_)
      if (!has_media_file(path)) plan_.sources.push_back(plan_unknown(path, *offers[0]));
    std::stable_sort(plan_.sources.begin(), plan_.sources.end(),
                     [](const auto& a, const auto& b) { return a.path < b.path; });
    require_no_conflicts();
    report();
    return std::move(plan_);
  }

 private:
  bool has_media_file(const std::string& path) const {
    const auto found = std::lower_bound(files_.media.begin(), files_.media.end(), path,
                                        [](const FoundFile& file, const auto& p) { return file.path < p; });
    return found != files_.media.end() && found->path == path;
  }
  PlannedSource plan_file(const FoundFile& file);
  PlannedSource plan_unknown(const std::string& path, const CaptionOffer& offer) const;
  void add_clips(PlannedSource& out, const std::string& refused, const Offers& offers,
                 const CaptionOffer* part, const std::string& suffix);
  const CaptionOffer* choose(PlannedClip& clip, const Offers& offers);
  void apply_missing(PlannedClip& clip, const std::string& path, const std::string& why) const;
  void require_no_conflicts() const;
  void report();

  const FoundFiles& files_;
  const IngestPlanOptions& options_;
  std::map<std::string, Offers> by_media_;
  std::map<std::string, std::set<std::string>> owners_;  ///< file of one caption -> media
  std::set<std::string> by_case_, several_lines_;
  Conflicts conflicts_;
  IngestPlan plan_;
};

void Pairing::apply_missing(PlannedClip& clip, const std::string& path, const std::string& why) const {
  if (options_.missing == MissingCaption::kEmpty) return;
  if (options_.missing == MissingCaption::kFilename) {
    clip.caption = printable_name(fs::path(without_extension(path)).filename());
    return;
  }
  clip.refused = why;
  clip.skipped = options_.missing == MissingCaption::kSkip;
  if (!clip.skipped) clip.refused += "; write one, or say --missing-caption empty, filename or skip";
}

/// The offer that gives the clip its captions, or null; sets the reason when they can't be used.
const CaptionOffer* Pairing::choose(PlannedClip& clip, const Offers& offers) {
  const CaptionOffer* chosen = nullptr;
  for (const CaptionOffer* offer : offers) {
    if (!offer->problem.empty()) {
      clip.refused = offer->problem;
      ++plan_.pairing.unreadable;
      return nullptr;
    }
    const bool has_text = std::any_of(offer->captions.begin(), offer->captions.end(),
                                      [](const std::string& caption) { return !caption.empty(); });
    if (!has_text) continue;
    // A row that cuts a part out of a file speaks of that part; other captions speak of the whole file.
    const bool is_of_part = clip.has_window && (offer->start || offer->end);
    if (chosen != nullptr && clip.has_window && (chosen->start || chosen->end) && !is_of_part) continue;
    if (chosen == nullptr || (is_of_part && !chosen->start && !chosen->end)) {
      chosen = offer;
    } else if (chosen->captions != offer->captions && chosen->layout == offer->layout) {
      clip.refused = join_message("two different captions: ", chosen->from, " and ", offer->from);
      ++plan_.pairing.unreadable;
      return nullptr;
    } else if (chosen->captions != offer->captions) {
      conflicts_.clips.push_back(clip.name);
      for (const CaptionOffer* each : {chosen, offer})
        conflicts_.candidates.emplace(name_of(each->layout), each->from);
    }
  }
  return chosen;
}

/// `part`: the row that cuts this part, or null for the whole file.
void Pairing::add_clips(PlannedSource& out, const std::string& refused, const Offers& offers,
                        const CaptionOffer* part, const std::string& suffix) {
  PlannedClip clip;
  clip.name = printable_name(out.path) + suffix;
  clip.has_window = part != nullptr;
  clip.refused = refused;
  if (part != nullptr) {
    clip.window.start = part->start.value_or(Window{}.start);
    clip.window.end = part->end.value_or(Window{}.end);
  }
  ++plan_.pairing.clips;
  const CaptionOffer* chosen = clip.refused.empty() ? choose(clip, offers) : nullptr;
  std::vector<std::string> captions;
  if (chosen != nullptr)
    for (const std::string& caption : chosen->captions)
      if (!caption.empty() && std::find(captions.begin(), captions.end(), caption) == captions.end())
        captions.push_back(caption);
  if (captions.empty()) {
    if (clip.refused.empty()) {
      ++(offers.empty() ? plan_.pairing.without_caption : plan_.pairing.empty);
      apply_missing(clip, out.path,
                    offers.empty()
                        ? "no caption: no text file of the same name beside it, no row in a metadata table"
                    : extension_of(offers[0]->file) == ".txt" && offers[0]->layout != Layout::kLists
                        ? "its caption file is empty"
                        : join_message("no caption in ", offers[0]->from));
    }
    out.clips.push_back(std::move(clip));
    return;
  }
  ++plan_.pairing.with_caption;
  ++plan_.pairing.layouts[name_of(chosen->layout)];
  plan_.pairing.with_alternatives += captions.size() > 1;
  clip.layout = name_of(chosen->layout);
  clip.from = chosen->from;
  const std::string name = clip.name;
  for (size_t i = 0; i < (options_.each_alternative ? captions.size() : 1); ++i) {
    clip.caption = captions[i];
    if (options_.each_alternative && captions.size() > 1) clip.name = join_message(name, "#caption", i);
    out.clips.push_back(clip);
  }
}

PlannedSource Pairing::plan_file(const FoundFile& file) {
  PlannedSource out{file.path, file.location, {}, {}};
  const auto found = by_media_.find(file.path);
  Offers whole, parts;
  if (found != by_media_.end())
    for (const CaptionOffer* offer : found->second) {
      (offer->start || offer->end ? parts : whole).push_back(offer);
      if (out.location.is_pictures() && offer->fps > 0 && out.location.picture_fps == 0)
        out.location.picture_fps = offer->fps;
    }
  if (parts.empty()) {
    add_clips(out, file.refused, whole, nullptr, "");
    return out;
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    Offers offers = {parts[i]};
    for (const CaptionOffer* offer : whole)
      if (offer->layout != parts[i]->layout) offers.push_back(offer);
    add_clips(out, file.refused, offers, parts[i], parts.size() == 1 ? "" : join_message("#", i));
  }
  for (const CaptionOffer* offer : whole)
    if (offer->layout == parts[0]->layout)
      plan_.warnings.push_back(join_message(offer->from, ": not used, since other rows cut '",
                                            printable_name(file.path), "' into parts"));
  return out;
}

PlannedSource Pairing::plan_unknown(const std::string& path, const CaptionOffer& offer) const {
  std::error_code error;
  const bool exists = fs::is_regular_file(fs::path(files_.root) / path, error) && !path.starts_with("..") &&
                      !fs::path(path).is_absolute();
  PlannedClip clip;
  clip.name = printable_name(path);
  clip.refused =
      join_message(exists ? "its name is not that of a video or picture" : "no such file below SOURCE",
                   ", but ", offer.from, " names it");
  return {path, files_.root + "/" + path, {}, {clip}};
}

void Pairing::require_no_conflicts() const {
  if (conflicts_.clips.empty()) return;
  std::string candidates, options;
  for (const auto& [layout, example] : conflicts_.candidates) {
    candidates += join_message("\n  --layout ", layout, ": ", printable_name(example));
    options += (options.empty() ? "" : " or ") + layout;
  }
  throw Error(join_message("'", files_.root, "' can be read in several ways, and ", conflicts_.clips.size(),
                           " clips would have another caption in each: ", name_list(conflicts_.clips),
                           ". Candidates:", candidates, "\nsay which with --layout ", options));
}

void Pairing::report() {
  for (const auto& [file, media] : owners_)
    if (media.size() > 1) plan_.pairing.shared.push_back(file);
  plan_.pairing.by_case = int64_t(by_case_.size());
  plan_.pairing.several_lines = int64_t(several_lines_.size());
}

}  // namespace

IngestPlan pair_offers(const FoundFiles& files, const std::vector<CaptionOffer>& offers,
                       const IngestPlanOptions& options) {
  return Pairing(files, offers, options).plan();
}

void refuse_equal_names(IngestPlan& plan) {
  std::map<std::string, int> seen;
  for (const PlannedSource& source : plan.sources)
    for (const PlannedClip& clip : source.clips) ++seen[clip.name];
  for (PlannedSource& source : plan.sources)
    for (PlannedClip& clip : source.clips)
      if (seen[clip.name] > 1) {
        clip.refused =
            "another file has the same name once both are written with \\x for bytes that are not UTF-8, or "
            "with #; rename one";
        clip.skipped = false;
      }
}

void count_repeated_captions(IngestPlan& plan) {
  std::map<std::string, std::set<std::string>> users;
  for (const PlannedSource& source : plan.sources)
    for (const PlannedClip& clip : source.clips)
      // Parts of one file, and its sizes and alternatives, count once.
      if (clip.refused.empty() && !clip.caption.empty())
        users[clip.caption].insert(source.location.path + "/" + source.path);
  PairingReport& report = plan.pairing;
  report.repeated_captions = report.clips_with_repeated_caption = report.most_repeated_clips = 0;
  report.most_repeated.clear();
  for (const auto& [caption, files] : users) {
    if (files.size() < 2) continue;
    ++report.repeated_captions;
    report.clips_with_repeated_caption += int64_t(files.size());
    if (int64_t(files.size()) > report.most_repeated_clips) {
      report.most_repeated_clips = int64_t(files.size());
      report.most_repeated = caption;
    }
  }
}

}  // namespace zoetrope
