// One table as SOURCE, and what TOMLs and tables name by path.
#include <algorithm>
#include <filesystem>
#include <map>

#include "core/check.h"
#include "video/sources/captions.h"
#include "video/sources/metadata_table.h"
#include "video/sources/plan_parts.h"

namespace zoetrope {
namespace {

namespace fs = std::filesystem;

std::string normal(const fs::path& path) {
  std::string out = path.lexically_normal().string();
  while (out.size() > 1 && out.ends_with("/")) out.pop_back();
  return out;
}

std::string absolute(const std::string& path) { return normal(fs::absolute(path)); }

/// The folder that all of these lie in.
std::string common_folder(const std::vector<std::string>& paths) {
  std::string common = folder_of(paths[0]);
  for (const std::string& path : paths)
    while (!common.empty() && !path.starts_with(common + "/")) common = folder_of(common);
  return common;
}

/// Names that don't depend on where the whole data set lies: below the table's folder, or below the folder
/// that all other media have in common.
std::map<std::string, std::string> names_of(const std::vector<std::string>& paths,
                                            const std::string& folder) {
  std::vector<std::string> outside;
  std::map<std::string, std::string> names;
  for (const std::string& path : paths)
    if (path.starts_with(folder + "/")) names[path] = path.substr(folder.size() + 1);
    else outside.push_back(path);
  const std::string common = outside.empty() ? "" : common_folder(outside);
  for (const std::string& path : outside) names[path] = path.substr(common.size() + 1);
  return names;
}

}  // namespace

std::string find_named(const std::string& folder, const std::string& written) {
  const fs::path path(written);
  if (path.is_absolute()) return normal(path);
  const std::string beside = normal(fs::path(folder.empty() ? "." : folder) / path);
  std::error_code error;
  return !fs::exists(beside, error) && fs::exists(path, error) ? normal(path) : beside;
}

IngestPlan plan_table(const std::string& path, const IngestPlanOptions& options) {
  const std::string folder = folder_of(path), name = name_in_folder(path);
  auto table = read_metadata_table(text_from_bytes(read_bytes(path, int64_t(1) << 31)), name, true);
  std::vector<std::string> found;
  for (const MetadataRow& row : table->rows) {
    const std::string beside = find_named(folder, row.media);
    std::error_code error;
    // FastVideo's videos2caption.json lies beside the folder of its videos.
    const std::string in_videos = find_named(folder, "videos/" + row.media);
    found.push_back(
        absolute(!fs::exists(beside, error) && fs::exists(in_videos, error) ? in_videos : beside));
  }
  const auto names = names_of(found, absolute(folder.empty() ? "." : folder));
  FoundFiles files;
  files.root = folder.empty() ? "." : folder;
  std::vector<CaptionOffer> offers;
  std::map<std::string, FoundFile> media;
  for (size_t i = 0; i < table->rows.size(); ++i) {
    MetadataRow& row = table->rows[i];
    const std::string& media_name = names.at(found[i]);
    std::error_code error;
    if (fs::is_directory(found[i], error))
      media[media_name] = frame_folder(found[i], media_name, options.picture_fps);
    else
      media[media_name] = {
          media_name, fs::exists(found[i], error) ? "" : "no such file, but the table names it", found[i]};
    CaptionOffer offer;
    offer.layout = Layout::kTable;
    offer.media = media_name;
    offer.from = row.where;
    offer.from.erase(std::remove(offer.from.begin(), offer.from.end(), '\''), offer.from.end());
    offer.file = name;
    offer.captions = std::move(row.captions);
    offer.start = row.start;
    offer.end = row.end;
    offer.fps = row.fps;
    offers.push_back(std::move(offer));
  }
  for (auto& [key, file] : media) files.media.push_back(std::move(file));
  IngestPlan plan = pair_offers(files, offers, options);
  for (const auto* columns : {&table->unknown, &table->answered})
    if (!columns->empty()) plan.warnings.push_back(columns_note(name, *columns, columns == &table->answered));
  return plan;
}

void JoinedPlans::add(const std::string& folder, IngestPlan part) {
  const std::string base = name_in_folder(without_extension(normal(folder)));
  const int number = ++used_[base];
  const std::string prefix = alone_ ? "" : number == 1 ? base + "/" : join_message(base, "-", number, "/");
  for (PlannedSource& source : part.sources) {
    source.path = prefix + source.path;
    for (PlannedClip& clip : source.clips) clip.name = prefix + clip.name;
    joined_.sources.push_back(std::move(source));
  }
  for (const std::string& warning : part.warnings)
    joined_.warnings.push_back(prefix + (alone_ ? "" : ": ") + warning);
  for (const std::string& note : part.notes) joined_.notes.push_back(note);
  joined_.roots.push_back(folder);
  joined_.ignored_files += part.ignored_files;
  joined_.pairing.add(part.pairing);
}

IngestPlan JoinedPlans::take() {
  std::stable_sort(joined_.sources.begin(), joined_.sources.end(),
                   [](const auto& a, const auto& b) { return a.path < b.path; });
  return std::move(joined_);
}

}  // namespace zoetrope
