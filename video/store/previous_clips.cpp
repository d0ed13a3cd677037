#include "video/store/previous_clips.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "core/check.h"
#include "core/content_hash.h"
#include "core/files.h"
#include "video/store/journal.h"

namespace zoetrope {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

std::string list_path(const std::string& folder) { return previous_path(folder) + "/clips.jsonl"; }

/// Shards of several interrupted updates lie side by side.
std::string cached_name(const ShardRecord& shard) { return shard.hash + ".h5"; }

struct Remembered {
  std::vector<ManifestEntry> entries;
  std::vector<ShardRecord> shards;  ///< by the names they had in the data set
};

/// Empty when there is none, or it is torn.
Remembered read_list(const std::string& folder) {
  Remembered list;
  if (!fs::exists(list_path(folder))) return list;
  std::istringstream in(read_file(list_path(folder)));
  try {
    for (std::string line; std::getline(in, line);) {
      const Json json = Json::parse(line);
      if (json.contains("old_shard")) list.shards.push_back(parse_shard_record(json.at("old_shard").dump()));
      else list.entries.push_back(parse_manifest_line(line, list_path(folder)));
    }
  } catch (const std::exception&) { return {}; }
  return list;
}

}  // namespace

std::string previous_path(const std::string& folder) { return folder + "/previous.partial"; }

void forget_previous(const std::string& folder) {
  std::error_code ignored;
  fs::remove_all(previous_path(folder), ignored);
}

void remember_clips(const std::string& folder, std::vector<ManifestEntry> entries,
                    const std::vector<ShardRecord>& shards) {
  Remembered list = read_list(folder);
  std::map<std::string, std::string> cached;
  for (const ShardRecord& shard : shards) cached[shard.file] = cached_name(shard);
  std::set<std::string> newer;
  for (ManifestEntry& entry : entries) {
    if (entry.refused() || cached.count(entry.shard) == 0) continue;
    entry.shard = cached[entry.shard];
    newer.insert(entry.name);
  }
  std::string text;
  for (const auto* some : {&list.entries, &entries})
    for (const ManifestEntry& entry : *some)
      if ((some == &entries) == (newer.count(entry.name) > 0) && !entry.refused())
        text += manifest_line(entry) + "\n";
  // A shard of before that never came into the cache is gone once another has its name.
  std::erase_if(list.shards, [&](const ShardRecord& old) {
    return cached.count(old.file) > 0 && !fs::exists(previous_path(folder) + "/" + cached_name(old));
  });
  list.shards.insert(list.shards.end(), shards.begin(), shards.end());
  for (const ShardRecord& shard : list.shards)
    text += Json{{"old_shard", Json::parse(shard_record_text(shard))}}.dump() + "\n";
  fs::create_directories(previous_path(folder));
  write_file_atomically(list_path(folder), text);
}

PreviousClips::PreviousClips(const std::string& folder, const std::vector<ShardRecord>& kept)
    : folder_(previous_path(folder)) {
  Remembered list = read_list(folder);
  std::set<std::string> stays;
  for (const ShardRecord& shard : kept) stays.insert(shard.file);
  for (const ShardRecord& shard : list.shards) {
    const std::string from = folder + "/" + shard.file, to = folder_ + "/" + cached_name(shard);
    std::error_code error;
    if (stays.count(shard.file) > 0 || fs::exists(to) || int64_t(fs::file_size(from, error)) != shard.bytes)
      continue;
    fs::rename(from, to, error);  // what can't be moved is decoded again
  }
  for (ManifestEntry& entry : list.entries) {
    ++clips_left_[entry.shard];
    entries_[entry.name] = std::move(entry);
  }
}

/// Opens a shard and compares all of its bytes with its hash; null when it isn't what it was.
std::shared_ptr<const ShardReader> PreviousClips::reader(const std::string& file) {
  const std::lock_guard guard(lock_);
  const auto known = open_.find(file);
  if (known != open_.end()) return known->second;
  std::shared_ptr<const ShardReader>& slot = open_[file];
  const std::string path = folder_ + "/" + file;
  try {
    if (fs::exists(path) && file_content_hash(path) + ".h5" == file)
      slot = std::make_shared<const ShardReader>(path);
  } catch (const Error&) { slot = nullptr; }
  return slot;
}

PreviousClips::Found PreviousClips::read(const ManifestEntry& entry) {
  const auto shard = reader(entry.shard);
  ZT_REQUIRE(shard && entry.row >= 0 && entry.row < int64_t(shard->samples().size()), "'", entry.name,
             "' isn't in ", entry.shard);
  const ShardSample& sample = shard->samples()[size_t(entry.row)];
  ZT_REQUIRE(sample.name == entry.name && sample.num_tokens == entry.num_tokens, "'", entry.shard,
             "' holds another clip than '", entry.name, "'");
  const Patch& patch = shard->patch();
  Found found{entry,
              {},
              {sample.grid, Tensor::empty({sample.num_tokens, 3 * patch.t * patch.h * patch.w}, DType::kU8)}};
  shard->read_tokens(entry.row, 0, sample.num_tokens, found.tokens.tokens);
  found.clip = {sample.name,
                sample.num_frames,
                sample.height,
                sample.width,
                sample.fps,
                {},
                shard->read_sources(entry.row)};
  return found;
}

std::vector<PreviousClips::Found> PreviousClips::find(
    const std::vector<std::string>& names, const std::function<bool(size_t, const ManifestEntry&)>& is_same) {
  // What is found in a file depends on all of its parts: with one more or one less it is decoded anew.
  const std::string next = names[0].substr(0, names[0].rfind('#')) + "#" + std::to_string(names.size());
  if (names.size() > 1 && entries_.count(next) > 0) return {};
  for (size_t i = 0; i < names.size(); ++i) {
    const auto entry = entries_.find(names[i]);
    if (entry == entries_.end() || !is_same(i, entry->second)) return {};
  }
  std::vector<Found> found;
  try {
    for (const std::string& name : names) found.push_back(read(entries_.at(name)));
  } catch (const Error&) { return {}; }
  return found;
}

void PreviousClips::release(const std::vector<std::string>& names) {
  const std::lock_guard guard(lock_);
  for (const std::string& name : names) {
    const auto entry = entries_.find(name);
    if (entry == entries_.end() || --clips_left_[entry->second.shard] > 0) continue;
    open_[entry->second.shard].reset();
    std::error_code ignored;
    fs::remove(folder_ + "/" + entry->second.shard, ignored);
  }
}

}  // namespace zoetrope
