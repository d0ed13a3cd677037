// Writes a data set so that a crash costs at most the work since the last shard: shard on disk, then its
// lines in the journal manifest.jsonl.partial, at last manifest.jsonl and dataset.json. Used by ingest.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "video/clip.h"
#include "video/store/folder_lock.h"
#include "video/store/manifest.h"
#include "video/store/part.h"
#include "video/store/shard.h"
#include "video/tokens.h"

namespace zoetrope {

/// What a data set is made by; part of dataset.json and compared on restart.
struct DatasetRules {
  Patch patch;
  double fps = 8;
  std::string options = "{}";      ///< JSON object: everything else that decides the bytes
  int64_t shard_bytes = 64 << 20;  ///< a shard ends with the sample that reaches this payload
  int64_t shard_samples = 1024;    ///< or this number
  PartNumber part;                 ///< which part of a data set, when several machines make it
};

/// Appends clips in order. One writer per folder, kept by a lock on it.
class DatasetWriter {
 public:
  /// Opens a new or an unfinished data set; everything after the last whole batch (shard and its lines) is
  /// cut off. Throws: Error when the folder holds a finished data set, something else, or one started with
  /// other rules.
  DatasetWriter(const std::string& folder, const DatasetRules& rules);

  /// Entries that an earlier run decided, in order.
  const std::vector<ManifestEntry>& decided() const { return decided_; }
  /// Shards that hold them.
  const std::vector<ShardRecord>& shards() const { return shards_; }
  /// Keeps only full shards among the first `count` decided entries; the rest is to be done again.
  void forget_after(int64_t count);

  /// For the tokens of the sample that is appended next, as they come; nothing else may be appended while it
  /// lives.
  std::shared_ptr<ShardStream> stream();
  /// Adds a sample with its line (name, verdict, reason and source filled in). `stream`: what got the tokens,
  /// of which `tokens` then has the grid alone.
  void append(ManifestEntry entry, const Clip& clip, const std::string& caption, const Tokens& tokens,
              ShardStream* stream = nullptr);
  /// Adds the line of a refused source.
  void append_refused(ManifestEntry entry);
  /// Adds the line of a source without a verdict: the data set then can't be sealed before `forget_after`
  /// took it back.
  void append_undecided(ManifestEntry entry);
  /// Index of the first undecided entry that an earlier run left, -1 when there is none.
  int64_t first_undecided() const;
  /// Puts what was appended on disk, for a run that ends without sealing.
  void pause();
  /// Finishes: manifest.jsonl and dataset.json appear, the journal goes. `sources_hash`: of all sources, when
  /// this is a part.
  void seal(const std::string& sources_hash = "");

 private:
  void load_journal();
  void write_journal() const;
  void begin_shard();
  void close_batch();

  std::string folder_;
  DatasetRules rules_;
  std::optional<FolderLock> lock_;
  std::vector<ManifestEntry> decided_, pending_;
  std::vector<ShardRecord> shards_;
  std::vector<int64_t> batch_ends_;  ///< entries decided at the end of each batch
  std::vector<bool> batch_has_shard_;
  ShardWriter shard_;
};

/// Makes the folder of a data set. Throws: Error when that can't be, or
/// when it is no data set and holds anything else.
void make_dataset_folder(const std::string& folder);
/// True when the folder holds manifest.jsonl and dataset.json that belong together.
bool is_sealed(const std::string& folder);
/// Makes a sealed data set unfinished again: full shards among the first `keep` entries stay, the rest is to
/// be redone.
void unseal(const std::string& folder, const DatasetRules& rules, int64_t keep);
/// Name of a shard's file.
std::string shard_name(size_t index);
/// Writes into a line where its clip lies and how big it is.
void place_entry(ManifestEntry& entry, const std::string& shard, int64_t row, const Clip& clip,
                 const Tokens& tokens);
/// Whether a shard's file is there and has the bytes that its record says; all of them are read.
bool shard_is_whole(const std::string& folder, const ShardRecord& record);
/// Whether a shard ended because it was full, not because the data set did.
bool is_full(const ShardRecord& shard, const DatasetRules& rules);
/// The rules as one line of JSON, and back. Throws: Error when this program can't have written the text.
std::string rules_text(const DatasetRules& rules);
DatasetRules parse_rules(const std::string& text);
/// The rules that a sealed or unfinished data set was made by, as JSON; empty when the folder holds none.
std::string rules_of_folder(const std::string& folder);

/// What dataset.json says.
struct DatasetSummary {
  Patch patch;
  double fps = 0;
  PartNumber part;
  std::string rules, manifest_hash;
  std::string sources_hash;  ///< of a part
  std::vector<ShardRecord> shards;
};
/// Reads and checks dataset.json. Throws: Error naming the file.
DatasetSummary read_dataset_json(const std::string& folder);

}  // namespace zoetrope
