#include "video/store/dataset_writer.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "core/check.h"
#include "core/content_hash.h"
#include "core/files.h"
#include "video/store/journal.h"

namespace zoetrope {
namespace {

namespace fs = std::filesystem;

std::string shard_name(size_t index) {
  char text[32];
  std::snprintf(text, sizeof text, "shard-%05zu.h5", index);
  return text;
}

bool shard_is_whole(const std::string& folder, const ShardRecord& record) {
  const std::string path = folder + "/" + record.file;
  std::error_code error;
  return fs::is_regular_file(path, error) && int64_t(fs::file_size(path, error)) == record.bytes &&
         file_content_hash(path) == record.hash;
}

/// Whether a folder is one that ingest may fill: new, empty, or holding what an earlier run left.
void refuse_foreign_folder(const std::string& folder) {
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    const bool ours = name.starts_with("shard-") || name.starts_with("manifest") ||
                      name.starts_with("dataset.json") || name.starts_with("journal") ||
                      name.starts_with("sources.partial") || name == "previous.partial";
    ZT_REQUIRE(ours, "'", folder, "' holds '", name,
               "', which is no part of a data set; choose an empty or a new folder");
  }
}

}  // namespace

DatasetWriter::DatasetWriter(const std::string& folder, const DatasetRules& rules)
    : folder_(folder), rules_(rules), shard_(rules.patch) {
  std::error_code error;
  fs::create_directories(folder, error);
  ZT_REQUIRE(fs::is_directory(folder), "can't make the folder '", folder,
             "': ", error ? error.message() : "something else is there");
  lock_folder();
  if (fs::exists(journal_path(folder))) {
    load_journal();
  } else {
    ZT_REQUIRE(!fs::exists(folder + "/dataset.json"), "'", folder,
               "' holds a data set without a journal; if its manifest was changed by hand, remove the folder "
               "and ingest again");
    refuse_foreign_folder(folder);
    replace_journal(folder, {rules_text(rules), {}, {}});
  }
}

DatasetWriter::~DatasetWriter() {
  if (lock_ >= 0) close(lock_);
}

void DatasetWriter::lock_folder() {
  lock_ = open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ZT_REQUIRE(lock_ >= 0, "can't open the folder '", folder_, "': ", std::strerror(errno));
  if (flock(lock_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    close(lock_);
    throw Error(
        join_message("another ingest is writing to '", folder_, "'; wait for it or choose another folder"));
  }
}

void DatasetWriter::load_journal() {
  Journal journal = read_journal(folder_);
  ZT_REQUIRE(journal.rules == rules_text(rules_), "'", folder_, "' was started with other options:\n  then ",
             journal.rules, "\n  now  ", rules_text(rules_), "\nuse the same options or another folder");
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

void DatasetWriter::append(ManifestEntry entry, const Clip& clip, const std::string& caption,
                           const Tokens& tokens) {
  ZT_CHECK(entry.name == clip.name && !entry.refused(), "line of '", entry.name, "' for clip '", clip.name,
           "'");
  entry.shard = shard_name(shards_.size());
  entry.row = shard_.num_samples();
  entry.num_frames = clip.num_frames;
  entry.height = clip.height;
  entry.width = clip.width;
  entry.grid = tokens.grid;
  entry.num_tokens = tokens.num_tokens();
  shard_.append(clip, caption, tokens);
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
    const std::string bytes = shard_.finish();
    record.bytes = int64_t(bytes.size());
    record.hash = content_hash(bytes);
    write_file_atomically(folder_ + "/" + record.file, bytes);
    batch.shard = record;
    shards_.push_back(std::move(record));
  }
  append_to_journal(folder_, pending_, batch);
  decided_.insert(decided_.end(), pending_.begin(), pending_.end());
  pending_.clear();
  batch_ends_.push_back(batch.end);
  batch_has_shard_.push_back(batch.has_shard);
}

void DatasetWriter::seal() {
  pause();
  ZT_CHECK(first_undecided() < 0, "clip ", first_undecided(), " is undecided");
  std::string manifest;
  for (const ManifestEntry& entry : decided_) manifest += manifest_line(entry) + "\n";
  // Shards that a longer earlier run left behind are no part of this data set.
  for (const auto& entry : fs::directory_iterator(folder_)) {
    const std::string name = entry.path().filename();
    bool used = !name.starts_with("shard-");
    for (const ShardRecord& shard : shards_) used = used || shard.file == name;
    if (!used) fs::remove(entry.path());
  }
  write_file_atomically(folder_ + "/dataset.json",
                        dataset_json_text(rules_, shards_, content_hash(manifest)));
  write_file_atomically(folder_ + "/manifest", manifest);
  ZT_REQUIRE(std::rename((folder_ + "/manifest").c_str(), (folder_ + "/manifest.jsonl").c_str()) == 0,
             "can't rename '", folder_, "/manifest' to manifest.jsonl: ", std::strerror(errno));
  sync_path(folder_);
  fs::remove(journal_path(folder_));
  sync_path(folder_);
}

}  // namespace zoetrope
