#include "video/store/verify.h"

#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "core/check.h"
#include "core/content_hash.h"
#include "core/files.h"
#include "video/store/dataset_writer.h"
#include "video/store/journal.h"
#include "video/store/shard.h"

namespace zoetrope {
namespace {

namespace fs = std::filesystem;

/// One pass over a data set.
class Verification {
 public:
  Verification(const std::string& folder, const std::function<void(const VerifyProgress&)>& progress)
      : folder_(folder), progress_(progress) {}

  VerifyReport run() {
    try {
      summary_ = read_dataset_json(folder_);
    } catch (const Error& error) { add_index("dataset.json", error.what()); }
    read_lines();
    for (const ShardRecord& record : summary_.shards) total_ += record.bytes;
    show_progress();
    for (const ShardRecord& record : summary_.shards) check_shard(record);
    if (!report_.index_is_damaged) check_files_named();
    check_strangers();
    check_pairing();
    return std::move(report_);
  }

 private:
  void add(const std::string& file, const std::string& clip, const std::string& what) {
    report_.damage.push_back({file, clip, what});
    report_.damaged_clips += !clip.empty();
  }
  void add_index(const std::string& file, const std::string& what) {
    report_.index_is_damaged = true;
    add(file, "", what);
  }
  void show_progress() const {
    if (progress_) progress_({report_.shards, int64_t(summary_.shards.size()), report_.bytes, total_});
  }
  void read_lines();
  void check_shard(const ShardRecord& record);
  void check_file(const ShardRecord& record);
  void check_clips(const ShardRecord& record, const std::vector<ManifestEntry>& lines);
  void check_clip(const ShardReader& shard, size_t row, const ShardRecord& record, const ManifestEntry* line);
  void check_files_named();
  void check_strangers();
  void check_pairing();

  const std::string& folder_;
  const std::function<void(const VerifyProgress&)>& progress_;
  DatasetSummary summary_;
  std::map<std::string, std::vector<ManifestEntry>> lines_;  ///< of kept clips, by shard
  VerifyReport report_;
  int64_t total_ = 0;
};

void Verification::read_lines() {
  const std::string path = folder_ + "/manifest.jsonl";
  std::string text;
  try {
    text = read_file(path);
  } catch (const Error& error) { return add_index("manifest.jsonl", error.what()); }
  if (!summary_.manifest_hash.empty() && content_hash(text) != summary_.manifest_hash)
    add_index("manifest.jsonl", join_message("its content hash is ", content_hash(text),
                                             ", dataset.json says ", summary_.manifest_hash));
  std::istringstream in(text);
  std::set<std::string> names;
  int64_t number = 0;
  for (std::string line; std::getline(in, line);) {
    try {
      ManifestEntry entry = parse_manifest_line(line, join_message("line ", ++number));
      if (!names.insert(entry.name).second)
        add_index("manifest.jsonl", join_message("line ", number, ": '", entry.name, "' was there before"));
      report_.refused += entry.refused();
      if (!entry.refused()) lines_[entry.shard].push_back(std::move(entry));
    } catch (const Error& error) { add_index("manifest.jsonl", error.what()); }
  }
}

/// Compares the file with its record.
void Verification::check_file(const ShardRecord& record) {
  const std::string path = folder_ + "/" + record.file;
  std::error_code error;
  const auto size = fs::file_size(path, error);
  if (error) return;  // which the attempt to open it says
  report_.bytes += int64_t(size);
  try {
    const std::string hash = file_content_hash(path);
    if (int64_t(size) == record.bytes && hash == record.hash) return;
    add(record.file, "",
        int64_t(size) != record.bytes
            ? join_message("has ", size, " bytes, dataset.json says ", record.bytes)
            : join_message("its content hash is ", hash, ", dataset.json says ", record.hash));
  } catch (const Error& unreadable) { add(record.file, "", unreadable.what()); }
}

void Verification::check_shard(const ShardRecord& record) {
  ++report_.shards;
  const size_t before = report_.damage.size();
  check_file(record);
  const auto found = lines_.find(record.file);
  const std::vector<ManifestEntry> lines =
      found == lines_.end() ? std::vector<ManifestEntry>() : found->second;
  try {
    check_clips(record, lines);
  } catch (const Error& error) {
    // Without its index no clip of the shard can be found.
    add(record.file, "", error.what());
    for (const ManifestEntry& line : lines) add(record.file, line.name, "lost with its shard's index");
  }
  report_.damaged_shards += report_.damage.size() > before;
  show_progress();
}

void Verification::check_clips(const ShardRecord& record, const std::vector<ManifestEntry>& lines) {
  const ShardReader shard(folder_ + "/" + record.file);
  const auto& samples = shard.samples();
  if (!(shard.patch() == summary_.patch))
    add(record.file, "", "was made with another patch than dataset.json says");
  if (int64_t(samples.size()) != record.samples || shard.num_tokens() != record.tokens)
    add(record.file, "",
        join_message("holds ", samples.size(), " clips of ", shard.num_tokens(),
                     " tokens, dataset.json says ", record.samples, " of ", record.tokens));
  if (samples.size() != lines.size() && !report_.index_is_damaged)
    add(record.file, "",
        join_message("holds ", samples.size(), " clips, manifest.jsonl has ", lines.size(), " of it"));
  for (size_t row = 0; row < samples.size(); ++row)
    check_clip(shard, row, record, row < lines.size() ? &lines[row] : nullptr);
  for (size_t row = samples.size(); row < lines.size(); ++row)
    add(record.file, lines[row].name, "isn't in the shard");
}

void Verification::check_clip(const ShardReader& shard, size_t row, const ShardRecord& record,
                              const ManifestEntry* line) {
  const ShardSample& sample = shard.samples()[row];
  ++report_.clips;
  const Patch& patch = shard.patch();
  const bool fits =
      line == nullptr ||
      (line->name == sample.name && line->row == int64_t(row) && line->grid == sample.grid &&
       line->num_tokens == sample.num_tokens && line->num_frames == sample.num_frames &&
       line->height == sample.height && line->width == sample.width && sample.fps == summary_.fps);
  if (!fits)
    return add(record.file, line->name,
               join_message("row ", row, " is '", sample.name,
                            "' there, or of another size than in manifest.jsonl"));
  try {
    const Tensor rows = Tensor::empty({sample.num_tokens, 3 * patch.t * patch.h * patch.w}, DType::kU8);
    shard.read_tokens(int64_t(row), 0, sample.num_tokens, rows);
    const std::string hash = content_hash({static_cast<const char*>(rows.raw()), size_t(rows.bytes())});
    if (hash != sample.hash)
      add(record.file, sample.name,
          join_message("its payload's hash is ", hash, ", the index says ", sample.hash));
    shard.read_sources(int64_t(row));
  } catch (const Error& error) { add(record.file, sample.name, error.what()); }
}

void Verification::check_files_named() {
  for (const ShardRecord& record : summary_.shards) lines_.erase(record.file);
  for (const auto& [file, lines] : lines_)
    add_index("manifest.jsonl",
              join_message("names ", file, " for ", lines.size(), " clips, dataset.json does not"));
}

/// Shards that nothing names: another data set was copied over this one, or a run left them.
void Verification::check_strangers() {
  std::set<std::string> known;
  for (const ShardRecord& record : summary_.shards) known.insert(record.file);
  for (const auto& entry : fs::directory_iterator(folder_)) {
    const std::string name = entry.path().filename();
    if (!report_.index_is_damaged && name.starts_with("shard-") && name.ends_with(".h5") &&
        known.count(name) == 0)
      add(name, "", "is no part of the data set; dataset.json doesn't name it");
  }
}

/// The report beside the data set, which a run that finds the data set complete writes again.
void Verification::check_pairing() {
  const std::string path = folder_ + "/pairing.json";
  if (!fs::exists(path)) return;
  try {
    if (nlohmann::json::accept(read_file(path))) return;
    add("pairing.json", "", "is not JSON; 'zoetrope ingest' with the same options writes it again");
  } catch (const Error& error) { add("pairing.json", "", error.what()); }
}

}  // namespace

VerifyReport verify_dataset(const std::string& folder,
                            const std::function<void(const VerifyProgress&)>& progress) {
  ZT_REQUIRE(fs::is_directory(folder), "no data set at '", folder, "': no such folder");
  const bool has_index = fs::exists(folder + "/dataset.json") || fs::exists(folder + "/manifest.jsonl");
  ZT_REQUIRE(!fs::exists(journal_path(folder)) || is_sealed(folder), "the data set '", folder,
             "' is not finished; run the same command that began it again, it goes on where it was");
  ZT_REQUIRE(has_index, "'", folder, "' is no data set: manifest.jsonl and dataset.json are missing");
  return Verification(folder, progress).run();
}

}  // namespace zoetrope
