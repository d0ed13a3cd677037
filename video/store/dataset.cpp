#include "video/store/dataset.h"

#include <filesystem>
#include <list>
#include <map>
#include <mutex>

#include "core/check.h"
#include "core/content_hash.h"
#include "core/files.h"
#include "video/store/dataset_writer.h"
#include "video/store/journal.h"
#include "video/store/shard.h"

namespace zoetrope {
namespace {

namespace fs = std::filesystem;

constexpr size_t kOpenShards = 64;  // far below the usual limit of 1024 open files

/// Where a sample's payload lies.
struct Place {
  size_t shard = 0;
  int64_t row = 0;
};

void refuse_unfinished(const std::string& folder) {
  ZT_REQUIRE(fs::is_directory(folder), "no data set at '", folder,
             "': no such folder; make one with 'zoetrope ingest SOURCE ", folder, "'");
  if (fs::exists(folder + "/manifest.jsonl") && fs::exists(folder + "/dataset.json")) return;
  ZT_REQUIRE(!fs::exists(journal_path(folder)), "the data set '", folder,
             "' is not finished: manifest.jsonl is missing; run the same 'zoetrope ingest' again, it goes on "
             "where it was");
  throw Error(join_message("'", folder, "' is no data set: manifest.jsonl or dataset.json is missing"));
}

/// Compares a sample as its shard holds it with its line in the manifest.
void require_same(const ManifestEntry& line, const ShardSample& sample, const std::string& shard) {
  ZT_REQUIRE(line.name == sample.name && line.grid == sample.grid && line.num_tokens == sample.num_tokens &&
                 line.num_frames == sample.num_frames && line.height == sample.height &&
                 line.width == sample.width,
             "manifest.jsonl and '", shard, "' disagree about '", line.name,
             "'; one of them was changed: ingest again");
}

}  // namespace

struct Dataset::State {
  std::string folder, fingerprint;
  DatasetSummary summary;
  std::vector<DatasetSample> samples;
  std::vector<Place> places;
  std::mutex lock;
  std::list<std::pair<size_t, std::shared_ptr<ShardReader>>> open;  ///< used last first

  std::shared_ptr<ShardReader> reader(size_t shard);
  void check_manifest(const std::string& manifest) const;
  void read_index(const std::vector<ManifestEntry>& lines);
  void add_shard(size_t shard, const std::vector<const ManifestEntry*>& lines);
};

std::shared_ptr<ShardReader> Dataset::State::reader(size_t shard) {
  const std::lock_guard guard(lock);
  for (auto it = open.begin(); it != open.end(); ++it)
    if (it->first == shard) {
      open.splice(open.begin(), open, it);
      return open.front().second;
    }
  open.emplace_front(shard, std::make_shared<ShardReader>(folder + "/" + summary.shards[shard].file));
  if (open.size() > kOpenShards) open.pop_back();
  return open.front().second;
}

void Dataset::State::check_manifest(const std::string& manifest) const {
  ZT_REQUIRE(content_hash(manifest) == summary.manifest_hash, "'", folder,
             "/manifest.jsonl' was changed since dataset.json was written; ingest the clips again");
}

void Dataset::State::add_shard(size_t shard, const std::vector<const ManifestEntry*>& lines) {
  const ShardRecord& record = summary.shards[shard];
  const std::string path = folder + "/" + record.file;
  std::error_code error;
  const auto size = fs::file_size(path, error);
  ZT_REQUIRE(!error, "can't open the shard '", path, "': ", error.message());
  ZT_REQUIRE(int64_t(size) == record.bytes, "the shard '", path, "' has ", size, " bytes, dataset.json says ",
             record.bytes, "; copy the data set again or ingest again");
  const auto opened = reader(shard);
  ZT_REQUIRE(opened->patch() == summary.patch, "the shard '", path,
             "' was made with another patch than dataset.json says");
  ZT_REQUIRE(opened->samples().size() == lines.size() && opened->num_tokens() == record.tokens, "the shard '",
             path, "' holds ", opened->samples().size(), " samples and ", opened->num_tokens(),
             " tokens, the manifest says ", lines.size(), " and ", record.tokens);
  for (size_t row = 0; row < lines.size(); ++row) {
    const ShardSample& sample = opened->samples()[row];
    require_same(*lines[row], sample, record.file);
    for (int64_t repeat = 0; repeat < lines[row]->repeats; ++repeat) {
      samples.push_back({sample.name, sample.caption, sample.grid, sample.num_tokens, sample.num_frames,
                         sample.height, sample.width, sample.fps});
      places.push_back({shard, int64_t(row)});
    }
  }
}

void Dataset::State::read_index(const std::vector<ManifestEntry>& lines) {
  std::map<std::string, std::vector<const ManifestEntry*>> by_shard;
  int64_t kept = 0;
  for (const ManifestEntry& line : lines) {
    if (line.refused()) continue;
    auto& rows = by_shard[line.shard];
    ZT_REQUIRE(line.row == int64_t(rows.size()), "manifest.jsonl: '", line.name, "' says row ", line.row,
               " of ", line.shard, ", expected ", rows.size());
    ZT_REQUIRE(line.repeats >= 1 && line.repeats <= 1000000, "manifest.jsonl: '", line.name, "' counts ",
               line.repeats, " times, expected 1 to 1000000");
    rows.push_back(&line);
    kept += line.repeats;
  }
  for (size_t i = 0; i < summary.shards.size(); ++i) add_shard(i, by_shard[summary.shards[i].file]);
  ZT_REQUIRE(int64_t(samples.size()) == kept, "manifest.jsonl names shards that dataset.json does not");
}

Dataset::Dataset(const std::string& folder) : state_(std::make_unique<State>()) {
  refuse_unfinished(folder);
  state_->folder = folder;
  state_->summary = read_dataset_json(folder);
  const std::string manifest = read_file(folder + "/manifest.jsonl");
  state_->check_manifest(manifest);
  state_->fingerprint = content_hash(read_file(folder + "/dataset.json") + manifest);
  state_->read_index(read_manifest(folder + "/manifest.jsonl"));
}

Dataset::~Dataset() = default;

const std::vector<DatasetSample>& Dataset::samples() const { return state_->samples; }

std::vector<int64_t> Dataset::lengths() const {
  std::vector<int64_t> out;
  for (const DatasetSample& sample : state_->samples) out.push_back(sample.num_tokens);
  return out;
}

Patch Dataset::patch() const { return state_->summary.patch; }
double Dataset::fps() const { return state_->summary.fps; }
int64_t Dataset::features() const { return 3 * patch().t * patch().h * patch().w; }
std::string Dataset::fingerprint() const { return state_->fingerprint; }

void Dataset::read_tokens(int64_t sample, int64_t begin, int64_t end, const Tensor& rows) const {
  ZT_CHECK(sample >= 0 && sample < int64_t(state_->places.size()), "sample ", sample, " of ",
           state_->places.size());
  const Place place = state_->places[size_t(sample)];
  state_->reader(place.shard)->read_tokens(place.row, begin, end, rows);
}

std::vector<FrameSource> Dataset::read_sources(int64_t sample) const {
  ZT_CHECK(sample >= 0 && sample < int64_t(state_->places.size()), "sample ", sample, " of ",
           state_->places.size());
  const Place place = state_->places[size_t(sample)];
  return state_->reader(place.shard)->read_sources(place.row);
}

Clip Dataset::read_clip(int64_t sample) const {
  ZT_CHECK(sample >= 0 && sample < int64_t(state_->samples.size()), "sample ", sample, " of ",
           state_->samples.size());
  const DatasetSample& from = state_->samples[size_t(sample)];
  const Tokens tokens{from.grid, Tensor::empty({from.num_tokens, features()}, DType::kU8)};
  read_tokens(sample, 0, from.num_tokens, tokens.tokens);
  Clip clip = untokenize(tokens, patch(), from.fps);
  clip.name = from.name;
  clip.sources = read_sources(sample);
  return clip;
}

std::vector<std::string> find_shard_damage(const std::string& folder) {
  std::vector<std::string> found;
  for (const ShardRecord& record : read_dataset_json(folder).shards) {
    const std::string hash = file_content_hash(folder + "/" + record.file);
    if (hash != record.hash)
      found.push_back(
          join_message(record.file, ": content hash ", hash, ", dataset.json says ", record.hash));
  }
  return found;
}

}  // namespace zoetrope
