#include "video/store/part_folder.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "core/check.h"
#include "core/content_hash.h"
#include "video/store/journal.h"
#include "video/store/rules_diff.h"

namespace zoetrope {
namespace {

namespace fs = std::filesystem;

/// Returns the folder, when it holds a finished part.
const std::string& require_finished(const std::string& folder) {
  ZT_REQUIRE(fs::is_directory(folder), "no part at '", folder, "': no such folder");
  if (is_sealed(folder)) return folder;
  ZT_REQUIRE(!fs::exists(journal_path(folder)), "the part '", folder,
             "' is not finished; run its 'zoetrope ingest' with --part again, it goes on where it was");
  throw Error(join_message("'", folder,
                           "' is no part of a data set: manifest.jsonl or dataset.json is missing, or they "
                           "don't belong together; copy it again, or remove it and ingest it again"));
}

std::string rules_without_part(const DatasetSummary& summary) {
  DatasetRules rules = parse_rules(summary.rules);
  rules.part = {};
  return rules_text(rules);
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

void require_all(const std::vector<std::unique_ptr<PartFolder>>& parts) {
  const int64_t count = parts.front()->summary().part.count;
  std::map<int64_t, const PartFolder*> found;
  for (const auto& part : parts) {
    const PartNumber number = part->summary().part;
    ZT_REQUIRE(number.count == count, "'", parts.front()->folder(), "' is part ",
               part_text(parts.front()->summary().part), " and '", part->folder(), "' is part ",
               part_text(number), "; parts of one data set have the same count");
    const auto [at, is_new] = found.emplace(number.index, part.get());
    ZT_REQUIRE(is_new, "'", at->second->folder(), "' and '", part->folder(), "' are both part ",
               part_text(number), "; name each part once");
  }
  constexpr size_t kShown = 20;
  std::vector<std::string> missing;
  for (int64_t i = 1; i <= count; ++i)
    if (found.count(i) == 0) missing.push_back(part_text({i, count}));
  const size_t more = missing.size() > kShown ? missing.size() - kShown : 0;
  missing.resize(missing.size() - more);
  ZT_REQUIRE(missing.empty(), "missing: part ", listed(missing),
             more > 0 ? join_message(" and ", more, " more") : "", "; name the folders of all ", count,
             " parts");
}

}  // namespace

PartFolder::PartFolder(const std::string& folder)
    : folder_(folder),
      lock_(require_finished(folder), FolderLock::Kind::kReader),
      summary_(read_dataset_json(folder)),
      entries_(read_manifest(folder + "/manifest.jsonl")) {
  ZT_REQUIRE(summary_.part.is_part() && !summary_.sources_hash.empty(), "'", folder,
             "' is a whole data set, no part of one; parts are made by 'zoetrope ingest --part I/N'");
}

void PartFolder::open_shard(const std::string& file) {
  if (shard_ && open_file_ == file) return;
  shard_.reset();
  const auto record = std::find_if(summary_.shards.begin(), summary_.shards.end(),
                                   [&](const ShardRecord& shard) { return shard.file == file; });
  ZT_REQUIRE(record != summary_.shards.end(), "'", folder_, "': manifest.jsonl names ", file,
             ", dataset.json does not");
  ZT_REQUIRE(shard_is_whole(folder_, *record), "'", folder_, "/", file,
             "' is missing or damaged: its bytes don't have the hash that dataset.json says; run the part's "
             "'zoetrope ingest' with --part ",
             part_text(summary_.part), " --repair, and merge again");
  shard_ = std::make_unique<const ShardReader>(folder_ + "/" + file);
  open_file_ = file;
}

PartClip PartFolder::read(const ManifestEntry& entry) {
  open_shard(entry.shard);
  ZT_REQUIRE(entry.row >= 0 && entry.row < int64_t(shard_->samples().size()), "'", shard_->path(),
             "' has no row ", entry.row, " for '", entry.name, "'");
  const ShardSample& sample = shard_->samples()[size_t(entry.row)];
  ZT_REQUIRE(shard_->patch() == summary_.patch && sample.name == entry.name && sample.grid == entry.grid &&
                 sample.num_frames == entry.num_frames && sample.num_tokens == entry.num_tokens,
             "'", shard_->path(), "' and the manifest beside it disagree about '", entry.name,
             "'; ingest the part again");
  const Patch& patch = shard_->patch();
  PartClip out{
      {},
      sample.caption,
      {sample.grid, Tensor::empty({sample.num_tokens, 3 * patch.t * patch.h * patch.w}, DType::kU8)}};
  shard_->read_tokens(entry.row, 0, sample.num_tokens, out.tokens.tokens);
  const Tensor& rows = out.tokens.tokens;
  ZT_REQUIRE(content_hash({static_cast<const char*>(rows.raw()), size_t(rows.bytes())}) == sample.hash, "'",
             shard_->path(), "': the payload of '", entry.name, "' doesn't have the hash of the index");
  out.clip = {sample.name,
              sample.num_frames,
              sample.height,
              sample.width,
              sample.fps,
              {},
              shard_->read_sources(entry.row)};
  return out;
}

void sort_parts(std::vector<std::unique_ptr<PartFolder>>& parts) {
  ZT_REQUIRE(!parts.empty(), "no parts to merge; name their folders");
  require_all(parts);
  std::sort(parts.begin(), parts.end(),
            [](const auto& a, const auto& b) { return a->summary().part.index < b->summary().part.index; });
  const PartFolder& first = *parts.front();
  for (const auto& part : parts) {
    const std::string then = rules_without_part(first.summary()), now = rules_without_part(part->summary());
    ZT_REQUIRE(then == now, "'", part->folder(), "' was made with other options than '", first.folder(),
               "' (", "there: now; here: then):", rules_difference(now, then), "\ningest one of them again");
    ZT_REQUIRE(part->summary().sources_hash == first.summary().sources_hash, "'", part->folder(), "' and '",
               first.folder(),
               "' were made from different sources: names, sizes or captions of the clips differ; bring the "
               "sources in line and run 'zoetrope ingest' of every part again with --update, which decodes "
               "what changed");
  }
}

}  // namespace zoetrope
