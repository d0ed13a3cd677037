#include "video/ingest/ingest.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/check.h"
#include "core/files.h"
#include "video/ingest/clip_analysis.h"
#include "video/ingest/clip_stream.h"
#include "video/ingest/ingest_tasks.h"
#include "video/ingest/ordered_run.h"
#include "video/ingest/part_plan.h"
#include "video/ingest/ready_clip.h"
#include "video/ingest/scene_plan.h"
#include "video/ingest/shard_repair.h"
#include "video/media/deinterlacer.h"
#include "video/media/libav.h"
#include "video/sources/linked_folders.h"
#include "video/sources/source_changes.h"
#include "video/store/dataset_writer.h"
#include "video/store/journal.h"
#include "video/store/previous_clips.h"
#include "video/store/rules_diff.h"

namespace zoetrope {
namespace {

namespace fs = std::filesystem;

const char* name_of(MissingCaption missing) {
  constexpr const char* kNames[] = {"error", "skip", "empty", "filename"};
  return kNames[int(missing)];
}

std::string version_text(unsigned version) {
  return join_message(AV_VERSION_MAJOR(version), ".", AV_VERSION_MINOR(version), ".",
                      AV_VERSION_MICRO(version));
}

DatasetRules rules_of(const IngestRequest& request) {
  DatasetRules rules{request.decode.size.patch, request.decode.fps,    "",
                     request.shard_bytes,       request.shard_samples, request.part};
  rules.options =
      nlohmann::ordered_json{
          {"area", request.decode.size.area},
          {"max_seconds", request.decode.max_seconds},
          {"upscale", request.decode.size.upscale},
          {"deinterlace", request.decode.deinterlace ? Deinterlacer::description() : "off"},
          {"missing_caption", name_of(request.plan.missing)},
          {"reading", reading_text(request.plan)},
          {"damaged", rule_name_of(request.damaged)},
          {"limits", nlohmann::ordered_json::parse(limits_json(request.decode.limits))},
          {"max_clip_bytes", request.decode.max_clip_bytes},
          {"analysis", nlohmann::ordered_json::parse(analysis_rules_text(request.analysis))},
          {"libavcodec", version_text(avcodec_version())},
          {"hdr", request.decode.size.tone_map_hdr ? "tonemap" : "refuse"},
          {"pixels", std::string(pixel_rules())}}
          .dump();
  return rules;
}

void check_folders(const IngestRequest& request, const std::vector<std::string>& roots) {
  for (const std::string& root : roots)
    if (lies_in(request.dataset, root) || lies_in(root, request.dataset))
      throw UsageError(
          join_message("DATASET '", request.dataset, "' and SOURCE '", root, "' must not lie in each other"));
}

void check_request(const IngestRequest& request) {
  const auto require = [](bool good, auto&&... parts) {
    if (!good) throw UsageError(join_message(parts...));
  };
  const Patch& patch = request.decode.size.patch;
  require(!request.dataset.empty(), "DATASET is empty; name a folder");
  check_folders(request, {request.source});
  require(request.plan.picture_fps >= 0 && request.plan.picture_fps <= 1000, "--picture-fps ",
          request.plan.picture_fps, ": expected 0 (as the table says) to 1000");
  require(request.decode.fps >= 0.001 && request.decode.fps <= 1000, "--fps ", request.decode.fps,
          ": expected 0.001 to 1000");
  require(request.decode.max_seconds > 0, "--max-seconds ", request.decode.max_seconds,
          ": expected more than 0");
  require(patch.t >= 1 && patch.h >= 1 && patch.w >= 1 && patch.t <= 64 && patch.h <= 256 && patch.w <= 256,
          "--patch ", patch.t, ",", patch.h, ",", patch.w,
          ": expected T,H,W of at least 1 and at most 64,256,256");
  require(request.decode.size.area >= patch.h * patch.w && request.decode.size.area <= 1 << 26, "--area ",
          request.decode.size.area, ": expected ", patch.h * patch.w, " (one patch) to ", 1 << 26, " pixels");
  require(request.decode.clip_seconds > 0, "--clip-seconds ", request.decode.clip_seconds,
          ": expected more than 0");
  check_limits(request.decode.limits);
  check_filters(request.analysis.filters);
  require(
      !request.part.is_part() || request.analysis.duplicates != DuplicatePolicy::kDrop,
      "--part with --duplicates drop: a part can't know the clips of the others; say --duplicates report, "
      "and the merged manifest names the duplicates");
  require(!request.plan.each_alternative || request.analysis.scenes == SceneDetector::kNone,
          "--alternatives each with --scenes ", name_of(request.analysis.scenes),
          ": a scene has one caption; say --alternatives first");
  require(!request.plan.each_alternative || request.analysis.duplicates != DuplicatePolicy::kDrop,
          "--alternatives each with --duplicates drop: clips with one picture and several captions are "
          "duplicates; say --duplicates report");
  require(request.workers >= 1 && request.workers <= 1024, "--workers ", request.workers,
          ": expected 1 to 1024");
}

/// Writes pairing.json unless it is there already.
void write_pairing(const std::string& folder, const PairingReport& report) {
  const std::string path = folder + "/pairing.json", text = pairing_json(report);
  if (!fs::exists(path) || read_file(path) != text) write_file_atomically(path, text);
}

/// One ingest from plan to sealed data set.
class Ingest {
 public:
  explicit Ingest(const IngestRequest& request)
      : request_(request), rules_(rules_of(request)), plan_(plan_of(request)) {
    check_folders(request, plan_.roots);
    inventory_ = take_inventory(plan_);
    ZT_REQUIRE(!inventory_.empty(), "no video or picture below '", request.source, "'");
    if (request.part.is_part()) sources_hash_ = keep_part(request.part, plan_, inventory_);
    cut_into_scenes();  // after it: a part searches its own files alone
    for (const PlannedSource& source : plan_.sources)
      for (size_t i = 0; i < source.clips.size(); ++i) paths_.push_back(source.location);
  }

  IngestResult run(const std::function<void(const IngestProgress&)>& progress) {
    IngestResult result;
    std::error_code ignored;  // a finished data set may lie on a disk that can't be written
    result.warnings = plan_.warnings;
    result.notes = plan_.notes;
    result.pairing = plan_.pairing;
    result.ignored_files = plan_.ignored_files;
    open();
    if (writer_) {
      result.resumed = int64_t(writer_->decided().size());
      previous_.emplace(request_.dataset, writer_->shards());
      require_sound(request_.damaged, writer_->decided());
      decode_rest(progress, result);
      if (result.undecided > 0) {
        writer_->pause();
        result.entries = writer_->decided();
        return result;
      }
      write_pairing(request_.dataset, plan_.pairing);
      writer_->seal(sources_hash_);
      writer_.reset();
    } else {
      result.was_complete = true;
      result.repaired = repair(progress);
      try {
        write_pairing(request_.dataset, plan_.pairing);
      } catch (const Error&) {}  // the same disk
      fs::remove(journal_path(request_.dataset), ignored);
    }
    fs::remove(inventory_path(request_.dataset), ignored);
    forget_previous(request_.dataset);
    result.entries = read_manifest(request_.dataset + "/manifest.jsonl");
    require_sound(request_.damaged, result.entries);
    return result;
  }

 private:
  void cut_into_scenes();
  void open();
  void require_rules(const std::string& then) const;
  void require_update(const SourceChanges& changes, bool others_changed = false) const;
  int64_t repair(const std::function<void(const IngestProgress&)>& progress);
  void decode_rest(const std::function<void(const IngestProgress&)>& progress, IngestResult& result);
  std::vector<ReadyClip> process(const IngestTask& task, const std::function<bool()>& may_stream = {});
  bool take_previous(std::vector<ReadyClip>& clips);
  void write(ReadyClip& ready);
  void decode(const IngestTask& task, const std::function<bool()>& may_stream, std::vector<ReadyClip>& clips);

  const IngestRequest& request_;
  DatasetRules rules_;
  IngestPlan plan_;
  std::vector<InventoryItem> inventory_;
  std::vector<MediaLocation> paths_;
  std::string sources_hash_;  ///< of all parts' sources, when this is a part
  std::optional<DatasetWriter> writer_;
  std::optional<PreviousClips> previous_;
};

void Ingest::require_rules(const std::string& then) const {
  require_same_rules(request_.dataset, then, rules_text(rules_));
}

/// Before anything else that a plan is used for, and after what would make it useless is known.
void Ingest::cut_into_scenes() {
  if (request_.analysis.scenes == SceneDetector::kNone) return;
  const std::string then = rules_of_folder(request_.dataset);
  if (!then.empty()) require_rules(then);
  zoetrope::cut_into_scenes({request_.dataset, request_.analysis.scenes, request_.decode, request_.workers},
                            plan_);
  inventory_ = take_inventory(plan_);
}

void Ingest::require_update(const SourceChanges& changes, bool others_changed) const {
  ZT_REQUIRE(request_.update, "the sources below '", request_.source, "' are not those that '",
             request_.dataset, "' was made from:", changes.text(),
             others_changed ? "\n  the sources of all parts together" : "",
             "\n--update accepts that and decodes what was added or changed");
}

/// Leaves writer_ empty when the data set is complete already.
void Ingest::open() {
  const std::string& folder = request_.dataset;
  if (fs::exists(folder) && is_sealed(folder)) {
    require_rules(rules_of_folder(folder));
    const SourceChanges changes = compare_with_manifest(read_manifest(folder + "/manifest.jsonl"), inventory_,
                                                        paths_, request_.workers);
    const bool others_changed = read_dataset_json(folder).sources_hash != sources_hash_;
    if (!changes.any() && !others_changed) return;
    require_update(changes, others_changed);
    {
      const FolderLock lock(folder, FolderLock::Kind::kWriter);
      remember_clips(folder, read_manifest(folder + "/manifest.jsonl"), read_dataset_json(folder).shards);
      write_inventory(folder, inventory_);
      unseal(folder, rules_, changes.same_prefix);
    }
    writer_.emplace(folder, rules_);
    return;
  }
  bool changed = false;
  int64_t same = 0;
  if (fs::exists(journal_path(folder))) {
    require_rules(rules_of_folder(folder));
    const std::vector<ManifestEntry> decided = read_journal(folder).entries;
    ZT_REQUIRE(decided.empty() || fs::exists(inventory_path(folder)), "'", inventory_path(folder),
               "' is missing; remove '", folder, "' and ingest again");
    if (fs::exists(inventory_path(folder))) {
      const SourceChanges changes =
          compare_with_inventory(read_inventory(folder), inventory_, decided, paths_);
      changed = changes.any();
      if (changed) require_update(changes);
      same = changes.same_prefix;
    }
  }
  writer_.emplace(folder, rules_);
  // What follows an undecided clip is written again, from the cache.
  if (const int64_t undecided = writer_->first_undecided(); undecided >= 0) {
    same = changed ? std::min(same, undecided) : undecided;
    changed = true;
  }
  // Forget first: a kill in between must not leave the new inventory beside old entries.
  if (changed) {
    remember_clips(folder, writer_->decided(), writer_->shards());
    writer_->forget_after(same);
  }
  write_inventory(folder, inventory_);
}

/// `may_stream`: whether it is this task's turn to be written.
std::vector<ReadyClip> Ingest::process(const IngestTask& task, const std::function<bool()>& may_stream) {
  const std::string hash = hash_or_nothing(task.source->location);
  std::vector<ReadyClip> out(task.num_clips);
  for (size_t i = 0; i < out.size(); ++i) {
    const PlannedClip& planned = task.source->clips[task.first_clip + i];
    const InventoryItem& item = inventory_[task.first_item + i];
    out[i].caption = planned.caption;
    ManifestEntry& entry = out[i].entry;
    entry.name = planned.name;
    entry.source_bytes = item.bytes;
    entry.source_hash = hash;
    entry.caption_hash = item.caption_hash;
    entry.verdict = "refused";
    entry.reason = planned.refused;
    entry.skipped = planned.skipped;
    entry.repeats = planned.repeats;
    note_window(planned.window, planned.has_window, entry.analysis);
  }
  if (!take_previous(out)) decode(task, may_stream, out);
  out.erase(out.begin(), out.begin() + int64_t(task.num_decided));
  return out;
}

/// Whether all clips of a task, and its file, are those of the data set that is being updated.
bool Ingest::take_previous(std::vector<ReadyClip>& clips) {
  if (clips[0].entry.source_hash.empty()) return false;
  std::vector<std::string> names;
  names.reserve(clips.size());
  for (const ReadyClip& clip : clips) names.push_back(clip.entry.name);
  std::vector<PreviousClips::Found> found = previous_->find(names, [&](size_t i, const ManifestEntry& then) {
    const ManifestEntry& now = clips[i].entry;
    return then.source_bytes == now.source_bytes && then.source_hash == now.source_hash &&
           then.caption_hash == now.caption_hash;
  });
  for (size_t i = 0; i < found.size(); ++i) {
    clips[i].entry = std::move(found[i].entry);
    clips[i].clip = std::move(found[i].clip);
    clips[i].tokens = std::move(found[i].tokens);
    clips[i].reused = true;
  }
  return !found.empty();
}

void Ingest::decode(const IngestTask& task, const std::function<bool()>& may_stream,
                    std::vector<ReadyClip>& clips) {
  std::vector<Window> windows;
  std::vector<size_t> decoded_at;
  for (size_t i = 0; i < clips.size(); ++i) {
    const PlannedClip& planned = task.source->clips[task.first_clip + i];
    if (!planned.refused.empty()) continue;
    windows.push_back(planned.window);
    decoded_at.push_back(i);
  }
  if (windows.empty()) return;
  const DecodeRules rules = rules_for(*task.source, request_.decode);
  FrameAnalyzer frames;
  StreamedClips decoded = decode_streamed(task.source->location, rules, windows, frames, [&] {
    return may_stream && may_stream() ? writer_->stream() : nullptr;
  });
  for (size_t i = 0; i < decoded.clips.size(); ++i) {
    DecodedTokens each = std::move(decoded.clips[i]);
    clips[decoded_at[i]].stream = decoded.stream;
    require_whole_window(windows[i], each);
    apply_policy(request_.damaged, each);
    decide_with_scores(each, frames, windows[i], rules, request_.analysis.filters, clips[decoded_at[i]]);
  }
}

void Ingest::write(ReadyClip& ready) {
  require_sound(request_.damaged, ready.entry);
  if (ready.entry.undecided()) writer_->append_undecided(std::move(ready.entry));
  else if (ready.entry.refused()) writer_->append_refused(std::move(ready.entry));
  else writer_->append(std::move(ready.entry), ready.clip, ready.caption, ready.tokens, ready.stream.get());
}

/// Adds what was read and decoded for the clips of one file.
void count_source(const std::vector<ReadyClip>& clips, IngestProgress& state) {
  int64_t decoded = 0, bytes = 0;
  for (const ReadyClip& clip : clips) {
    bytes = std::max(bytes, clip.entry.source_bytes);
    if (!clip.reused) decoded = std::max(decoded, clip.entry.facts.decoded);
  }
  state.bytes += bytes;
  state.decoded += decoded;
}

void Ingest::decode_rest(const std::function<void(const IngestProgress&)>& progress, IngestResult& result) {
  const size_t decided = writer_->decided().size();
  const std::vector<IngestTask> tasks = ingest_tasks(plan_, request_.decode, decided);
  DuplicateIndex seen;
  const DuplicatePolicy policy = request_.analysis.duplicates;
  for (ManifestEntry entry : writer_->decided()) decide_duplicate(seen, policy, entry);
  IngestProgress state{.done = int64_t(decided), .total = int64_t(inventory_.size())};
  for (const IngestTask& task : tasks)
    state.total_bytes += std::max<int64_t>(0, inventory_[task.first_item].bytes);
  progress(state);
  OrderedRun ordered(request_.workers, [&](std::vector<ReadyClip>& clips, int64_t waiting) {
    std::vector<std::string> names;
    state.waiting = waiting;
    count_source(clips, state);
    for (ReadyClip& ready : clips) {
      names.push_back(ready.entry.name);
      decide_duplicate(seen, policy, ready.entry);
      ++state.done;
      state.frames += ready.clip.num_frames;
      state.refused += ready.entry.refused();
      result.reused += ready.reused;
      result.undecided += ready.entry.undecided();
      write(ready);
    }
    previous_->release(names);
    progress(state);
  });
  ordered.run(int64_t(tasks.size()), [&](int64_t index) {
    return process(tasks[size_t(index)], [&ordered, index] { return ordered.is_next(index); });
  });
}

/// Makes broken shards of a finished data set anew; returns how many.
int64_t Ingest::repair(const std::function<void(const IngestProgress&)>& progress) {
  const std::vector<ShardRecord> broken = find_broken_shards(request_.dataset, request_.repair);
  if (broken.empty()) return 0;
  const FolderLock lock(request_.dataset, FolderLock::Kind::kWriter);
  const std::vector<ManifestEntry> entries = read_manifest(request_.dataset + "/manifest.jsonl");
  forget_previous(request_.dataset);
  previous_.emplace(request_.dataset, read_dataset_json(request_.dataset).shards);
  for (const ShardRecord& record : broken) {
    ShardRepair shard(request_.dataset, rules_.patch, entries, record);
    std::vector<IngestTask> tasks = ingest_tasks(plan_, request_.decode, 0);
    std::erase_if(tasks, [&](const IngestTask& task) {
      for (size_t i = 0; i < task.num_clips; ++i)
        if (shard.wants(inventory_[task.first_item + i].name)) return false;
      return true;
    });
    IngestProgress state{.total = shard.num_wanted()};
    OrderedRun ordered(request_.workers, [&](std::vector<ReadyClip>& clips, int64_t waiting) {
      state.waiting = waiting;
      count_source(clips, state);
      for (ReadyClip& ready : clips) {
        if (!shard.wants(ready.entry.name)) continue;
        shard.add(ready);
        ++state.done;
      }
      progress(state);
    });
    ordered.run(int64_t(tasks.size()), [&](int64_t index) { return process(tasks[size_t(index)]); });
    shard.finish();
  }
  return int64_t(broken.size());
}

}  // namespace

IngestPlan plan_of(const IngestRequest& request) {
  IngestPlanOptions options = request.plan;
  options.fps = request.decode.fps;
  return plan_ingest(request.source, options);
}

IngestResult ingest(const IngestRequest& request,
                    const std::function<void(const IngestProgress&)>& progress) {
  check_request(request);
  require_few_linked_folders(request.source);
  return Ingest(request).run(progress);
}

}  // namespace zoetrope
