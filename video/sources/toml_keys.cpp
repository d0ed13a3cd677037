#include "video/sources/toml_keys.h"

#include <algorithm>

#include "core/check.h"
#include "video/sources/captions.h"

namespace zoetrope {

void refuse_unknown_keys(const TomlTable& table, const std::vector<std::string>& known,
                         const std::vector<UnneededKey>& unneeded) {
  for (const std::string& key : table.keys()) {
    const bool good =
        std::find(known.begin(), known.end(), key) != known.end() ||
        std::any_of(unneeded.begin(), unneeded.end(), [&](const auto& u) { return key == u.key; });
    if (!good) table.refuse(key, "not known; remove it if it means nothing to the data");
  }
}

void note_unneeded(const TomlTable& table, const std::vector<UnneededKey>& unneeded,
                   std::vector<std::string>& notes) {
  for (const UnneededKey& each : unneeded)
    if (table.has(each.key)) notes.push_back(table.where(each.key) + ": not needed; " + each.why);
}

void keep_direct_files(FoundFiles& files) {
  const auto is_deep = [&](const std::string& path) {
    const std::string folder = folder_of(path);
    const bool in_archive =
        std::find(files.archives.begin(), files.archives.end(), folder) != files.archives.end();
    return !folder.empty() && !(in_archive && folder_of(folder).empty());
  };
  std::erase_if(files.media, [&](const FoundFile& media) {
    if (is_deep(media.path)) files.ignored.push_back(media.path);
    return is_deep(media.path);
  });
  for (auto* list : {&files.captions, &files.tables}) std::erase_if(*list, is_deep);
}

int64_t repeats_of(const TomlTable& table, const std::string& key, int64_t otherwise) {
  if (!table.has(key)) return otherwise;
  const double repeats = table.number(key).value_or(1);
  if (!(repeats >= 1 && repeats <= 1e6) || repeats != double(int64_t(repeats)))
    table.refuse(key,
                 "expected a whole number of at least 1; a part of an epoch can't be kept in a data set");
  return int64_t(repeats);
}

void set_repeats(IngestPlan& plan, int64_t repeats) {
  for (PlannedSource& source : plan.sources)
    for (PlannedClip& clip : source.clips) clip.repeats = repeats;
}

IngestPlan plan_dataset_toml(const std::string& path, const IngestPlanOptions& options) {
  const std::string name = name_in_folder(path);
  const TomlTable root = TomlTable::parse(text_from_bytes(read_bytes(path, int64_t(1) << 26)), name);
  const bool is_diffusion_pipe = root.has("directory"), is_musubi = root.has("datasets");
  if (root.has("dataset") && !is_diffusion_pipe && !is_musubi)
    throw UsageError(join_message(
        name, " is a training file; SOURCE is the data-set file that it names: ", root.where("dataset")));
  if (is_diffusion_pipe == is_musubi)
    throw UsageError(join_message(name, " has ", is_musubi ? "both" : "neither",
                                  " [[directory]] (a data set of diffusion-pipe) ", is_musubi ? "and" : "nor",
                                  " [[datasets]] (one of musubi-tuner); expected one of them"));
  const std::string folder = folder_of(path);
  return is_musubi ? plan_musubi(root, folder, options) : plan_diffusion_pipe(root, folder, options);
}

}  // namespace zoetrope
