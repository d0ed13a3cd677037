#include "video/store/dataset_writer.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <set>

#include "core/check.h"
#include "core/content_hash.h"
#include "core/files.h"
#include "video/store/journal.h"
#include "video/store/rules_diff.h"

namespace zoetrope {
namespace {

namespace fs = std::filesystem;

/// Makes a folder and those above it, and puts their names on disk.
void make_folder(const std::string& folder) {
  std::error_code error;
  std::vector<fs::path> missing;
  for (fs::path path = fs::absolute(folder, error); !path.empty() && !fs::exists(path, error);
       path = path.parent_path())
    missing.push_back(path);
  fs::create_directories(folder, error);
  ZT_REQUIRE(fs::is_directory(folder), "can't make the folder '", folder,
             "': ", error ? error.message() : "something else is there");
  for (const fs::path& path : missing) {
    try {
      sync_path(path.parent_path().string());
    } catch (const Error&) {}  // a folder that this user may write to but not list
  }
}

/// Whether a folder is one that ingest may fill: new, empty, or holding what an earlier run left.
void refuse_foreign_folder(const std::string& folder) {
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    const bool ours = name.starts_with("shard-") || name.starts_with("manifest") ||
                      name.starts_with("dataset.json") || name.starts_with("journal") ||
                      name.starts_with("sources.partial") || name == "previous.partial" ||
                      name.starts_with("scenes.") || name.starts_with("pairing.json");
    ZT_REQUIRE(ours, "'", folder, "' holds '", name,
               "', which is no part of a data set; choose an empty or a new folder");
  }
}

}  // namespace

std::string shard_name(size_t index) {
  char text[32];
  std::snprintf(text, sizeof text, "shard-%05zu.h5", index);
  return text;
}

void place_entry(ManifestEntry& entry, const std::string& shard, int64_t row, const Clip& clip,
                 const Tokens& tokens) {
  entry.shard = shard;
  entry.row = row;
  entry.num_frames = clip.num_frames;
  entry.height = clip.height;
  entry.width = clip.width;
  entry.grid = tokens.grid;
  entry.num_tokens = tokens.num_tokens();
}

bool shard_is_whole(const std::string& folder, const ShardRecord& record) {
  const std::string path = folder + "/" + record.file;
  std::error_code error;
  return fs::is_regular_file(path, error) && int64_t(fs::file_size(path, error)) == record.bytes &&
         file_content_hash(path) == record.hash;
}

void make_dataset_folder(const std::string& folder) {
  make_folder(folder);
  if (!fs::exists(journal_path(folder)) && !fs::exists(folder + "/dataset.json"))
    refuse_foreign_folder(folder);
}

DatasetWriter::DatasetWriter(const std::string& folder, const DatasetRules& rules)
    : folder_(folder), rules_(rules), shard_(rules.patch) {
  make_dataset_folder(folder);
  lock_.emplace(folder, FolderLock::Kind::kWriter);
  if (fs::exists(journal_path(folder))) {
    load_journal();
  } else {
    ZT_REQUIRE(!fs::exists(folder + "/dataset.json"), "'", folder,
               "' holds a data set without a journal; if its manifest was changed by hand, remove the folder "
               "and ingest again");
    replace_journal(folder, {rules_text(rules), {}, {}});
  }
}

void DatasetWriter::load_journal() {
  Journal journal = read_journal(folder_);
  require_same_rules(folder_, journal.rules, rules_text(rules_));
  size_t good = 0;
  while (good < journal.batches.size() &&
         (!journal.batches[good].has_shard || shard_is_whole(folder_, journal.batches[good].shard)))
    ++good;
  journal.batches.resize(good);
  journal.entries.resize(good == 0 ? 0 : size_t(journal.batches.back().end));
  for (const JournalBatch& batch : journal.batches) {
    batch_ends_.push_back(batch.end);
    batch_has_shard_.push_back(batch.has_shard);
    if (batch.has_shard) shards_.push_back(batch.shard);
  }
  decided_ = std::move(journal.entries);
  write_journal();
}

void DatasetWriter::write_journal() const {
  Journal journal{rules_text(rules_), decided_, {}};
  size_t shard = 0;
  for (size_t i = 0; i < batch_ends_.size(); ++i)
    journal.batches.push_back(
        {batch_ends_[i], batch_has_shard_[i], batch_has_shard_[i] ? shards_[shard++] : ShardRecord{}});
  replace_journal(folder_, journal);
}

void DatasetWriter::forget_after(int64_t count) {
  ZT_CHECK(pending_.empty(), "forget_after must come before the first append");
  // A shard that isn't full, and a batch without one, were the last of their run: more clips would have
  // joined them.
  while (!batch_ends_.empty() &&
         (batch_ends_.back() > count || !batch_has_shard_.back() || !is_full(shards_.back(), rules_))) {
    if (batch_has_shard_.back()) shards_.pop_back();
    batch_ends_.pop_back();
    batch_has_shard_.pop_back();
  }
  decided_.resize(batch_ends_.empty() ? 0 : size_t(batch_ends_.back()));
  write_journal();
}

void DatasetWriter::begin_shard() {
  if (!shard_.has_begun()) shard_.begin(folder_ + "/" + shard_name(shards_.size()));
}

std::shared_ptr<ShardStream> DatasetWriter::stream() {
  begin_shard();
  return shard_.stream();
}

void DatasetWriter::append(ManifestEntry entry, const Clip& clip, const std::string& caption,
                           const Tokens& tokens, ShardStream* stream) {
  ZT_CHECK(entry.name == clip.name && !entry.refused(), "line of '", entry.name, "' for clip '", clip.name,
           "'");
  place_entry(entry, shard_name(shards_.size()), shard_.num_samples(), clip, tokens);
  begin_shard();
  if (stream != nullptr) shard_.append(clip, caption, *stream);
  else shard_.append(clip, caption, tokens);
  pending_.push_back(std::move(entry));
  if (shard_.payload_bytes() >= rules_.shard_bytes || shard_.num_samples() >= rules_.shard_samples)
    close_batch();
}

void DatasetWriter::append_refused(ManifestEntry entry) {
  ZT_CHECK(entry.refused(), "'", entry.name, "' is not refused");
  pending_.push_back(std::move(entry));
}

void DatasetWriter::append_undecided(ManifestEntry entry) {
  ZT_CHECK(entry.undecided(), "'", entry.name, "' has a verdict");
  pending_.push_back(std::move(entry));
}

int64_t DatasetWriter::first_undecided() const {
  for (size_t i = 0; i < decided_.size(); ++i)
    if (decided_[i].undecided()) return int64_t(i);
  return -1;
}

void DatasetWriter::pause() {
  if (!pending_.empty()) close_batch();
}

void DatasetWriter::close_batch() {
  JournalBatch batch{int64_t(decided_.size() + pending_.size()), shard_.num_samples() > 0, {}};
  if (batch.has_shard) {
    ShardRecord record{shard_name(shards_.size()), "", 0, shard_.num_samples(), shard_.num_tokens()};
    const FinishedImage finished = shard_.finish();
    record.bytes = finished.bytes;
    record.hash = finished.hash;
    finished.file->commit();
    batch.shard = record;
    shards_.push_back(std::move(record));
  }
  shard_.give_up();
  append_to_journal(folder_, pending_, batch);
  decided_.insert(decided_.end(), pending_.begin(), pending_.end());
  pending_.clear();
  batch_ends_.push_back(batch.end);
  batch_has_shard_.push_back(batch.has_shard);
}

void DatasetWriter::seal(const std::string& sources_hash) {
  pause();
  ZT_CHECK(first_undecided() < 0, "clip ", first_undecided(), " is undecided");
  std::string manifest;
  for (const ManifestEntry& entry : decided_) manifest += manifest_line(entry) + "\n";
  // Shards that a longer earlier run left behind are no part of this data set.
  std::set<std::string> used;
  for (const ShardRecord& shard : shards_) used.insert(shard.file);
  for (const auto& entry : fs::directory_iterator(folder_)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("shard-") && used.count(name) == 0) fs::remove(entry.path());
  }
  write_file_atomically(folder_ + "/dataset.json",
                        dataset_json_text(rules_, shards_, content_hash(manifest), sources_hash));
  write_file_atomically(folder_ + "/manifest", manifest);
  ZT_REQUIRE(std::rename((folder_ + "/manifest").c_str(), (folder_ + "/manifest.jsonl").c_str()) == 0,
             "can't rename '", folder_, "/manifest' to manifest.jsonl: ", std::strerror(errno));
  sync_path(folder_);
  fs::remove(journal_path(folder_));
  sync_path(folder_);
}

}  // namespace zoetrope
