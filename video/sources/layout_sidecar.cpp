// Captions in files of their own: beside the clip, or in a folder beside the clips' folder.
#include <algorithm>
#include <map>

#include "core/check.h"
#include "video/sources/captions.h"
#include "video/sources/layouts.h"

namespace zoetrope {
namespace {

/// Media by stem, exactly and in lower case.
class Stems {
 public:
  explicit Stems(const FoundFiles& files) {
    for (const FoundFile& media : files.media) {
      const std::string stem = media.location.is_pictures() ? media.path : without_extension(media.path);
      exact_[stem].push_back(media.path);
      folded_[lower_case(stem)].push_back(media.path);
    }
  }
  bool has(const std::string& stem) const { return exact_.count(stem) > 0; }

  /// Media that a caption of this stem belongs to. `taken`: stems of other captions, which come first.
  std::vector<std::string> of(const std::string& stem, const std::map<std::string, int>& taken,
                              bool& by_case) const {
    by_case = false;
    if (const auto found = exact_.find(stem); found != exact_.end()) return found->second;
    const auto found = folded_.find(lower_case(stem));
    if (found == folded_.end() || found->second.size() != 1) return {};
    const std::string& media = found->second[0];
    for (const auto& [other, count] : taken)
      if (other != stem && lower_case(other) == lower_case(stem)) return {};
    by_case = true;
    return {media};
  }

 private:
  std::map<std::string, std::vector<std::string>> exact_, folded_;
};

bool is_caption_name(const std::string& path, const CaptionRules& rules) {
  if (rules.extension.empty()) return true;
  return path.ends_with(rules.extension);
}

/// Pairs the caption files of `stems` (stem of the media -> caption files) with media.
LayoutReading pair_files(const FoundFiles& files, const CaptionRules& rules, Layout layout,
                         const std::map<std::string, std::vector<std::string>>& by_stem) {
  const Stems stems(files);
  std::map<std::string, std::map<std::string, int>> folded;  // which spellings of a stem there are
  for (const auto& [stem, paths] : by_stem) ++folded[lower_case(stem)][stem];
  LayoutReading out;
  for (const auto& [stem, paths] : by_stem) {
    bool by_case = false;
    const std::vector<std::string> owners = stems.of(stem, folded[lower_case(stem)], by_case);
    if (owners.empty()) continue;
    for (const std::string& path : paths) {
      const CaptionText text = read_caption_file(files, path, rules);
      if (!text.is_caption) continue;
      out.used.push_back(path);
      for (const std::string& owner : owners) {
        CaptionOffer offer;
        offer.layout = layout;
        offer.media = owner;
        offer.from = offer.file = path;
        offer.captions = text.captions;
        offer.problem = text.problem;
        offer.has_lines = text.has_lines;
        offer.by_case = by_case;
        out.offers.push_back(std::move(offer));
      }
    }
  }
  return out;
}

}  // namespace

LayoutReading read_sidecars(const FoundFiles& files, const CaptionRules& rules) {
  std::map<std::string, std::vector<std::string>> by_stem;
  for (const std::string& path : files.captions)
    if (is_caption_name(path, rules)) by_stem[without_extension(path)].push_back(path);
  return pair_files(files, rules, Layout::kSidecar, by_stem);
}

LayoutReading read_split_folders(const FoundFiles& files, const CaptionRules& rules) {
  constexpr const char* kCaptionFolders[] = {"metas", "captions", "prompts", "texts"};
  std::map<std::string, std::vector<std::string>> by_stem;
  for (const std::string& path : files.captions) {
    if (!is_caption_name(path, rules)) continue;
    for (const std::string folder : kCaptionFolders) {
      const size_t at = ("/" + path).find("/" + folder + "/");
      if (at == std::string::npos) continue;
      const std::string media = path.substr(0, at) + "videos" + path.substr(at + folder.size());
      by_stem[without_extension(media)].push_back(path);
      break;
    }
  }
  return pair_files(files, rules, Layout::kSplit, by_stem);
}

}  // namespace zoetrope
