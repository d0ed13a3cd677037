#include "video/ingest/merge.h"

#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>

#include "core/check.h"
#include "core/files.h"
#include "video/analysis/duplicates.h"
#include "video/ingest/scene_plan.h"
#include "video/store/dataset_writer.h"
#include "video/store/journal.h"
#include "video/store/part_folder.h"
#include "video/store/rules_diff.h"

namespace zoetrope {
namespace {

namespace fs = std::filesystem;
using Parts = std::vector<std::unique_ptr<PartFolder>>;

constexpr const char *kPairing = "pairing.json", *kScenes = "scenes.jsonl";
constexpr const char* kThen = "; run 'zoetrope ingest' of each part again, which writes it anew";

void check_places(const std::string& dataset, const std::vector<std::string>& parts) {
  for (const std::string& part : parts)
    if (lies_in(part, dataset) || lies_in(dataset, part))
      throw UsageError(join_message("DATASET '", dataset, "' and the part '", part,
                                    "' must not lie in each other; name a new folder first, then the parts"));
}

/// A clip may repeat one of an earlier part: a part alone can't know.
void name_duplicates(Parts& parts) {
  const auto options = nlohmann::json::parse(parse_rules(parts.front()->summary().rules).options);
  const std::string policy = options.value("/analysis/duplicates"_json_pointer, std::string("off"));
  if (duplicate_policy_of(policy) == DuplicatePolicy::kOff) return;
  DuplicateIndex seen;
  for (const auto& part : parts)
    for (ManifestEntry& entry : part->entries()) seen.decide(entry);
}

Parts open_parts(const std::vector<std::string>& folders) {
  Parts parts;
  for (const std::string& folder : folders) {
    for (const auto& other : parts)
      ZT_REQUIRE(!(lies_in(folder, other->folder()) && lies_in(other->folder(), folder)), "the part '",
                 folder, "' is named twice");
    parts.push_back(std::make_unique<PartFolder>(folder));
  }
  sort_parts(parts);
  name_duplicates(parts);
  std::set<std::string> names;
  for (const auto& part : parts)
    for (const ManifestEntry& entry : part->entries())
      ZT_REQUIRE(names.insert(entry.name).second, "'", part->folder(), "' holds '", entry.name,
                 "', which another part holds too; ingest all parts again from the same sources");
  return parts;
}

/// The part's file, if it has it.
std::optional<std::string> text_of(const PartFolder& part, const std::string& name) {
  const std::string path = part.folder() + "/" + name;
  return fs::exists(path) ? std::optional(read_file(path)) : std::nullopt;
}

void require_scenes(const std::string& text, const std::string& folder) {
  std::istringstream in(text);
  try {
    for (std::string line; std::getline(in, line);) parse_scenes_line(line);
  } catch (const Error& error) {
    throw Error(join_message("'", folder, "/", kScenes, "' is damaged: ", error.what(), kThen));
  }
}

/// The pairing report, which is about all sources and which every part has whole, and the lines of the scenes
/// of each part's own sources, one after another: by name, of those that the parts have.
std::map<std::string, std::string> files_beside(const Parts& parts) {
  std::map<std::string, std::string> texts;
  const std::optional<std::string> pairing = text_of(*parts.front(), kPairing),
                                   scenes = text_of(*parts.front(), kScenes);
  for (const auto& part : parts) {
    ZT_REQUIRE(text_of(*part, kPairing) == pairing, "'", part->folder(), "/", kPairing, "' is not that of '",
               parts.front()->folder(), "', so one is missing or damaged, or other files lay below SOURCE",
               kThen);
    const std::optional<std::string> own = text_of(*part, kScenes);
    ZT_REQUIRE(own.has_value() == scenes.has_value(), "only one of '", part->folder(), "' and '",
               parts.front()->folder(), "' has ", kScenes, kThen);
    if (!own) continue;
    require_scenes(*own, part->folder());
    texts[kScenes] += *own;
  }
  if (pairing) texts[kPairing] = *pairing;
  return texts;
}

void write_files_beside(const std::string& dataset, const std::map<std::string, std::string>& texts) {
  for (const auto& [name, text] : texts) {
    const std::string path = dataset + "/" + name;
    if (!fs::exists(path) || read_file(path) != text) write_file_atomically(path, text);
  }
}

/// A line without the place that the clip has in its data set.
std::string line_without_place(ManifestEntry entry) {
  entry.shard.clear();
  entry.row = 0;
  return manifest_line(entry);
}

/// Whether these are the first entries of the parts' ones.
bool is_beginning(const std::vector<ManifestEntry>& entries, const Parts& parts) {
  size_t at = 0;
  for (const auto& part : parts)
    for (const ManifestEntry& entry : part->entries()) {
      if (at == entries.size()) return true;
      if (line_without_place(entries[at++]) != line_without_place(entry)) return false;
    }
  return at == entries.size();
}

/// Whether a finished data set is the one that the parts give.
bool is_there_already(const std::string& dataset, const std::string& rules, const Parts& parts,
                      int64_t total) {
  if (!fs::exists(dataset) || !is_sealed(dataset)) return false;
  const std::vector<ManifestEntry> entries = read_manifest(dataset + "/manifest.jsonl");
  ZT_REQUIRE(
      rules_of_folder(dataset) == rules && int64_t(entries.size()) == total && is_beginning(entries, parts),
      "'", dataset, "' holds another data set than these parts give; name a new folder");
  return true;
}

/// Shards that can't be read are made again, with all that follow them.
bool is_sound(const std::string& dataset, const DatasetRules& rules) {
  int64_t sound = 0;
  for (const ShardRecord& shard : read_dataset_json(dataset).shards) {
    if (!shard_is_whole(dataset, shard)) {
      int64_t keep = 0;
      for (const ManifestEntry& entry : read_manifest(dataset + "/manifest.jsonl")) {
        if (!entry.refused() && --sound < 0) break;
        ++keep;
      }
      const FolderLock lock(dataset, FolderLock::Kind::kWriter);
      unseal(dataset, rules, keep);
      return false;
    }
    sound += shard.samples;
  }
  return true;
}

/// Bytes of tokens of all clips but the first `decided`.
int64_t payload_from(int64_t decided, const Parts& parts, const Patch& patch) {
  int64_t bytes = 0, at = 0;
  for (const auto& part : parts)
    for (const ManifestEntry& entry : part->entries())
      if (at++ >= decided && !entry.refused()) bytes += entry.num_tokens * 3 * patch.t * patch.h * patch.w;
  return bytes;
}

void copy_clips(DatasetWriter& writer, const Parts& parts, MergeProgress& state,
                const std::function<void(const MergeProgress&)>& progress) {
  int64_t at = 0;
  const int64_t decided = state.done;
  for (const auto& part : parts)
    for (const ManifestEntry& entry : part->entries()) {
      if (at++ < decided) continue;
      if (entry.refused()) {
        writer.append_refused(entry);
      } else {
        const PartClip clip = part->read(entry);
        writer.append(entry, clip.clip, clip.caption, clip.tokens);
        state.bytes += int64_t(clip.tokens.tokens.bytes());
      }
      ++state.done;
      progress(state);
    }
}

}  // namespace

MergeResult merge_parts(const std::string& dataset, const std::vector<std::string>& folders,
                        const std::function<void(const MergeProgress&)>& progress) {
  check_places(dataset, folders);
  const Parts parts = open_parts(folders);
  const std::map<std::string, std::string> whole = files_beside(parts);
  DatasetRules rules = parse_rules(parts.front()->summary().rules);
  rules.part = {};
  MergeProgress state;
  for (const auto& part : parts) state.total += int64_t(part->entries().size());
  MergeResult result;
  std::error_code ignored;
  if (is_there_already(dataset, rules_text(rules), parts, state.total) && is_sound(dataset, rules)) {
    fs::remove(journal_path(dataset), ignored);  // of a run that was killed in its last moment
    result.was_complete = true;
    write_files_beside(dataset, whole);
  } else {
    ZT_REQUIRE(!fs::exists(dataset + "/sources.partial"), "'", dataset,
               "' is an unfinished ingest, no merge; name another folder");
    DatasetWriter writer(dataset, rules);
    ZT_REQUIRE(is_beginning(writer.decided(), parts), "'", dataset,
               "' is an unfinished merge of other parts; remove it, or name another folder");
    state.done = result.resumed = int64_t(writer.decided().size());
    state.total_bytes = payload_from(state.done, parts, rules.patch);
    progress(state);
    copy_clips(writer, parts, state, progress);
    write_files_beside(dataset, whole);
    writer.seal();
  }
  result.entries = read_manifest(dataset + "/manifest.jsonl");
  return result;
}

}  // namespace zoetrope
