#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/check.h"
#include "core/content_hash.h"
#include "core/files.h"
#include "core/shallow_json.h"
#include "video/store/dataset_writer.h"
#include "video/store/journal.h"
#include "video/store/shard_file.h"

namespace zoetrope {

using Json = nlohmann::ordered_json;

namespace {

constexpr int kVersion = 2;

Json json_of(const DatasetRules& rules) {
  Json json = {{"version", kVersion},
               {"codec", "pixels"},
               {"patch", {rules.patch.t, rules.patch.h, rules.patch.w}},
               {"fps", rules.fps},
               {"shard_bytes", rules.shard_bytes},
               {"shard_samples", rules.shard_samples},
               {"chunk_bytes", kChunkBytes},
               {"options", Json::parse(rules.options)}};
  if (rules.part.is_part()) json["part"] = part_text(rules.part);
  return json;
}

Patch patch_of(const Json& json) {
  const Patch patch = {json.at("patch").at(0), json.at("patch").at(1), json.at("patch").at(2)};
  ZT_REQUIRE(patch.t >= 1 && patch.h >= 1 && patch.w >= 1, "patch must be positive");
  return patch;
}

PartNumber part_of(const Json& json) {
  return json.contains("part") ? parse_part(json.at("part")) : PartNumber{};
}

}  // namespace

std::string rules_text(const DatasetRules& rules) { return json_of(rules).dump(); }

DatasetRules parse_rules(const std::string& text) {
  try {
    const Json json = Json::parse(text);
    DatasetRules rules{patch_of(json),         json.at("fps"),           json.at("options").dump(),
                       json.at("shard_bytes"), json.at("shard_samples"), part_of(json)};
    ZT_REQUIRE(rules_text(rules) == text, "this program would write them as ", rules_text(rules));
    return rules;
  } catch (const std::exception& error) {
    throw Error(join_message("rules of a data set that this program can't follow: ", text, ": ", error.what(),
                             "; ingest again with this program"));
  }
}

std::string shard_record_text(const ShardRecord& record) {
  return Json{{"file", record.file},
              {"bytes", record.bytes},
              {"samples", record.samples},
              {"tokens", record.tokens},
              {"hash", record.hash}}
      .dump();
}

ShardRecord parse_shard_record(const std::string& text) {
  const Json json = Json::parse(text);
  ShardRecord record{json.at("file"), json.at("hash"), json.at("bytes"), json.at("samples"),
                     json.at("tokens")};
  ZT_REQUIRE(record.file.find('/') == std::string::npos && record.bytes >= 0 && record.samples >= 0 &&
                 record.tokens >= 0,
             "shard record holds values that can't be: ", text);
  return record;
}

std::string dataset_json_text(const DatasetRules& rules, const std::vector<ShardRecord>& shards,
                              const std::string& manifest_hash, const std::string& sources_hash) {
  Json json = {{"format", "zoetrope data set"}};
  json.update(json_of(rules));
  int64_t samples = 0, tokens = 0;
  Json list = Json::array();
  for (const ShardRecord& shard : shards) {
    samples += shard.samples;
    tokens += shard.tokens;
    list.push_back(Json::parse(shard_record_text(shard)));
  }
  json["samples"] = samples;
  json["tokens"] = tokens;
  json["shards"] = std::move(list);
  json["manifest_hash"] = manifest_hash;
  if (!sources_hash.empty()) json["sources_hash"] = sources_hash;
  json["hash"] = content_hash(json.dump());
  return json.dump(1) + "\n";
}

DatasetSummary read_dataset_json(const std::string& folder) {
  const std::string path = folder + "/dataset.json";
  try {
    const std::string text = read_file(path);
    require_shallow_json(text, "'" + path + "'");
    Json json = Json::parse(text);
    ZT_REQUIRE(json.at("format") == "zoetrope data set" && json.at("version") == kVersion, "'", path,
               "': format '", json.at("format").dump(), "' version ", json.at("version").dump(),
               ", this program reads version ", kVersion, "; ingest the clips again");
    const std::string hash = json.at("hash");
    json.erase("hash");
    ZT_REQUIRE(content_hash(json.dump()) == hash, "'", path,
               "' was changed since it was written: its content hash is ", content_hash(json.dump()),
               ", it says ", hash, "; copy the data set again or ingest again");
    ZT_REQUIRE(json.at("codec") == "pixels", "'", path, "': codec ", json.at("codec").dump(),
               ", expected \"pixels\"");
    DatasetSummary summary;
    summary.patch = patch_of(json);
    summary.fps = json.at("fps");
    ZT_REQUIRE(summary.fps > 0, "'", path, "': fps must be positive");
    summary.part = part_of(json);
    summary.sources_hash = json.value("sources_hash", "");
    summary.manifest_hash = json.at("manifest_hash");
    for (const Json& shard : json.at("shards")) summary.shards.push_back(parse_shard_record(shard.dump()));
    Json rules = json;
    for (const char* key : {"format", "samples", "tokens", "shards", "manifest_hash", "sources_hash"})
      rules.erase(key);
    summary.rules = rules.dump();
    return summary;
  } catch (const Json::exception& error) {
    throw Error(join_message("'", path, "' is not a data set description: ", error.what()));
  }
}

bool is_sealed(const std::string& folder) {
  namespace fs = std::filesystem;
  if (!fs::exists(folder + "/dataset.json") || !fs::exists(folder + "/manifest.jsonl")) return false;
  return read_dataset_json(folder).manifest_hash == content_hash(read_file(folder + "/manifest.jsonl"));
}

std::string rules_of_folder(const std::string& folder) {
  if (is_sealed(folder)) return read_dataset_json(folder).rules;
  const std::string journal = journal_path(folder);
  return std::filesystem::exists(journal) ? read_journal(folder).rules : "";
}

bool is_full(const ShardRecord& shard, const DatasetRules& rules) {
  return shard.samples >= rules.shard_samples ||
         shard.tokens * 3 * rules.patch.t * rules.patch.h * rules.patch.w >= rules.shard_bytes;
}

void unseal(const std::string& folder, const DatasetRules& rules, int64_t keep) {
  const DatasetSummary summary = read_dataset_json(folder);
  Journal journal{rules_text(rules), {}, {}};
  size_t next_shard = 0;
  int64_t seen = 0;
  for (ManifestEntry& entry : read_manifest(folder + "/manifest.jsonl")) {
    if (int64_t(journal.entries.size()) >= keep || next_shard >= summary.shards.size()) break;
    const ShardRecord& shard = summary.shards[next_shard];
    if (!is_full(shard, rules)) break;
    seen += !entry.refused();
    journal.entries.push_back(std::move(entry));
    if (seen < shard.samples) continue;
    seen = 0;
    ++next_shard;
    journal.batches.push_back({int64_t(journal.entries.size()), true, shard});
  }
  journal.entries.resize(journal.batches.empty() ? 0 : size_t(journal.batches.back().end));
  replace_journal(folder, journal);
  std::filesystem::remove(folder + "/manifest.jsonl");
  std::filesystem::remove(folder + "/dataset.json");
  sync_path(folder);
}

}  // namespace zoetrope
