// zoetrope inspect: what a data set holds, whether its shards are sound, and its frames as pictures.
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/files.h"
#include "core/log.h"
#include "tools/commands.h"
#include "tools/dataset_report.h"
#include "video/media/encode.h"
#include "video/store/dataset.h"

namespace zoetrope {
namespace {

namespace fs = std::filesystem;

struct InspectFlags {
  std::string dataset, export_folder, clip;
  bool json = false;
};

nlohmann::ordered_json sample_json(const DatasetSample& sample) {
  return {{"name", sample.name},         {"frames", sample.num_frames}, {"width", sample.width},
          {"height", sample.height},     {"fps", sample.fps},           {"grid", sample.grid},
          {"tokens", sample.num_tokens}, {"caption", sample.caption}};
}

std::string report_json(const InspectFlags& flags, const Dataset& dataset,
                        const std::vector<ManifestEntry>& entries, const std::vector<std::string>& damage) {
  const Patch patch = dataset.patch();
  nlohmann::ordered_json json = {{"dataset", flags.dataset},
                                 {"fingerprint", dataset.fingerprint()},
                                 {"fps", dataset.fps()},
                                 {"patch", {patch.t, patch.h, patch.w}},
                                 {"features", dataset.features()}};
  json["counts"] = nlohmann::ordered_json::parse(counts_json(count_verdicts(entries), entries));
  json["samples"] = nlohmann::ordered_json::array();
  for (const DatasetSample& sample : dataset.samples()) json["samples"].push_back(sample_json(sample));
  json["refused"] = nlohmann::ordered_json::array();
  for (const ManifestEntry& entry : entries)
    if (entry.refused()) json["refused"].push_back({{"name", entry.name}, {"reason", entry.reason}});
  json["damaged_shards"] = damage;
  // A folder's name may be no UTF-8.
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void print_report(const InspectFlags& flags, const Dataset& dataset,
                  const std::vector<ManifestEntry>& entries) {
  const Patch patch = dataset.patch();
  std::printf("%s: patch %lldx%lldx%lld, %g frames per second, fingerprint %s\n", flags.dataset.c_str(),
              static_cast<long long>(patch.t), static_cast<long long>(patch.h),
              static_cast<long long>(patch.w), dataset.fps(), dataset.fingerprint().c_str());
  std::fputs(counts_text(count_verdicts(entries), entries).c_str(), stdout);
  std::printf("%8s %7s %10s  name: caption\n", "tokens", "frames", "size");
  for (const DatasetSample& sample : dataset.samples()) {
    const std::string size = join_message(sample.width, "x", sample.height);
    const bool is_long = sample.caption.size() > 70;
    std::printf("%8lld %7lld %10s  %s: %s%s\n", static_cast<long long>(sample.num_tokens),
                static_cast<long long>(sample.num_frames), size.c_str(), sample.name.c_str(),
                printable_name(sample.caption.substr(0, 70)).c_str(), is_long ? "..." : "");
  }
  for (const ManifestEntry& entry : entries)
    if (entry.refused()) std::printf(" refused %s: %s\n", entry.name.c_str(), entry.reason.c_str());
}

/// Leaves no picture of an earlier, longer export.
void remove_numbered_pictures(const fs::path& folder) {
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    if (name.ends_with(".png") && name.find_first_not_of("0123456789") == name.size() - 4)
      fs::remove(entry.path());
  }
}

void export_clip(const Dataset& dataset, int64_t index, const std::string& root) {
  const Clip clip = dataset.read_clip(index);
  const fs::path name(clip.name);
  for (const fs::path& part : name)
    ZT_REQUIRE(part != "..", "clip name '", clip.name, "' leads out of the export folder");
  ZT_REQUIRE(name.is_relative() && !name.empty(), "clip name '", clip.name,
             "' leads out of the export folder");
  const fs::path folder = fs::path(root) / name;
  std::error_code error;
  fs::create_directories(folder, error);
  ZT_REQUIRE(!error, "can't make the folder '", folder.string(), "': ", error.message());
  remove_numbered_pictures(folder);
  nlohmann::ordered_json frames = nlohmann::ordered_json::array();
  for (int64_t t = 0; t < clip.num_frames; ++t) {
    char file[32];
    std::snprintf(file, sizeof file, "%06lld.png", static_cast<long long>(t));
    write_png((folder / file).string(), clip.frame(t), clip.height, clip.width);
    const FrameSource& source = clip.sources[size_t(t)];
    frames.push_back({{"file", file},
                      {"source_seconds", source.source_seconds},
                      {"output_seconds", source.output_seconds},
                      {"source_index", source.source_index}});
  }
  write_file_atomically((folder / "frames.json").string(), frames.dump(1) + "\n");
}

void export_clips(const InspectFlags& flags, const Dataset& dataset,
                  const std::vector<ManifestEntry>& entries) {
  int64_t exported = 0;
  for (size_t i = 0; i < dataset.samples().size(); ++i)
    if (flags.clip.empty() || dataset.samples()[i].name == flags.clip) {
      export_clip(dataset, int64_t(i), flags.export_folder);
      ++exported;
    }
  if (exported == 0 && !flags.clip.empty()) {
    for (const ManifestEntry& entry : entries)
      if (entry.name == flags.clip)
        throw Error(join_message("'", flags.clip, "' was refused: ", entry.reason));
    throw UsageError(
        join_message("no clip '", flags.clip, "' in '", flags.dataset,
                     "'; names are paths below SOURCE with their extension, and 'zoetrope inspect ",
                     flags.dataset, "' lists them"));
  }
  if (!flags.json)
    std::printf("exported %lld clips to %s\n", static_cast<long long>(exported), flags.export_folder.c_str());
}

int run(const InspectFlags& flags) {
  if (!flags.clip.empty() && flags.export_folder.empty()) throw UsageError("--clip NAME needs --export DIR");
  const Dataset dataset(flags.dataset);
  const std::vector<ManifestEntry> entries = read_manifest(flags.dataset + "/manifest.jsonl");
  const std::vector<std::string> damage = find_shard_damage(flags.dataset);
  if (flags.json) std::printf("%s\n", report_json(flags, dataset, entries, damage).c_str());
  else if (flags.export_folder.empty()) print_report(flags, dataset, entries);
  if (!flags.export_folder.empty()) export_clips(flags, dataset, entries);
  for (const std::string& each : damage) log_error("damaged shard " + each);
  return damage.empty() ? 0 : 1;
}

}  // namespace

Command inspect_command() {
  auto flags = std::make_shared<InspectFlags>();
  Command command;
  command.name = "inspect";
  command.help = "Show what a data set holds, check its shards, export frames";
  command.footer =
      "--export writes DIR/NAME/000000.png, ... and DIR/NAME/frames.json: for each picture its time in the "
      "source file in seconds,\n"
      "its time in the clip, and the source frame's number. Exit codes: 0 sound; 1 a shard is damaged; 2 "
      "wrong use; 3 failed.";
  command.options.add_positional("dataset", flags->dataset, "data set folder that `zoetrope ingest` wrote");
  command.options.add_flag("json", flags->json, "print JSON");
  command.options.add_flag("export", flags->export_folder, "folder to write pictures to");
  command.options.add_flag("clip", flags->clip, "with --export: this clip alone");
  command.run = [flags] { return run(*flags); };
  return command;
}

}  // namespace zoetrope
