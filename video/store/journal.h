// manifest.jsonl.partial: the record of an unfinished data set. A line with the rules, then batches: the
// lines of some sources, ended by a line that names the finished shard. A batch counts only when its end line
// and its shard are there, so a kill at any byte costs one batch. Used by video/store/dataset_writer.
#pragma once

#include <string>
#include <vector>

#include "video/store/manifest.h"

namespace zoetrope {

struct DatasetRules;

/// Entries up to `end` are decided together with this shard; a batch of refused sources alone has none.
struct JournalBatch {
  int64_t end = 0;
  bool has_shard = false;
  ShardRecord shard;
};

struct Journal {
  std::string rules;
  std::vector<ManifestEntry> entries;
  std::vector<JournalBatch> batches;
};

/// Where the journal of a data set lies.
std::string journal_path(const std::string& folder);
/// Reads whole batches up to the first that is torn; entries after it are left out.
/// Throws: Error when the first line isn't there or isn't a journal's.
Journal read_journal(const std::string& folder);
/// Writes the whole journal anew, atomically.
void replace_journal(const std::string& folder, const Journal& journal);
/// Appends one batch and syncs it.
void append_to_journal(const std::string& folder, const std::vector<ManifestEntry>& entries,
                       const JournalBatch& batch);

/// A shard's line in dataset.json and in the journal, and back.
std::string shard_record_text(const ShardRecord& record);
ShardRecord parse_shard_record(const std::string& text);
/// The whole dataset.json; `sources_hash` is empty unless it is a part's.
std::string dataset_json_text(const DatasetRules& rules, const std::vector<ShardRecord>& shards,
                              const std::string& manifest_hash, const std::string& sources_hash);

}  // namespace zoetrope
