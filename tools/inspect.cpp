// zoetrope inspect: what a data set holds, whether its shards are sound, and its frames as pictures.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "core/files.h"
#include "core/log.h"
#include "tools/clip_files.h"
#include "tools/commands.h"
#include "tools/dataset_report.h"
#include "tools/ingest_report.h"
#include "tools/inspect_verify.h"

namespace zoetrope {
namespace {

struct InspectFlags {
  std::string dataset, export_folder, clip, play, sheet, html;
  bool json = false, verify = false, quiet = false;
  bool writes_files() const {
    return !export_folder.empty() || !play.empty() || !sheet.empty() || !html.empty();
  }
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
  json["refused"] = json["counts"]["refused_clips"];
  json["counts"].erase("refused_clips");
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
  std::fputs(counts_text(count_verdicts(entries), entries, dataset.fps()).c_str(), stdout);
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

/// Numbers of the clips that --clip leaves. Throws: what is known of a clip that isn't there.
std::vector<int64_t> selected_samples(const InspectFlags& flags, const Dataset& dataset,
                                      const std::vector<ManifestEntry>& entries) {
  std::vector<int64_t> selected;
  for (size_t i = 0; i < dataset.samples().size(); ++i)
    if (flags.clip.empty() || dataset.samples()[i].name == flags.clip) selected.push_back(int64_t(i));
  if (!selected.empty() || flags.clip.empty()) return selected;
  for (const ManifestEntry& entry : entries)
    if (entry.name == flags.clip) throw Error(join_message("'", flags.clip, "' was refused: ", entry.reason));
  throw UsageError(
      join_message("no clip '", flags.clip, "' in '", flags.dataset,
                   "'; names are paths below SOURCE with their extension, and 'zoetrope inspect ",
                   flags.dataset, "' lists them"));
}

/// Writes MP4s with their contact sheets.
void play(const InspectFlags& flags, const Dataset& dataset, const std::vector<int64_t>& samples) {
  const bool one_file = flags.play.ends_with(".mp4");
  if (one_file && samples.size() != 1)
    throw UsageError(join_message("--play '", flags.play, "' is a file for one clip, '", flags.dataset,
                                  "' has ", samples.size(), "; add --clip NAME, or name a folder"));
  std::string encoder;
  for (const int64_t sample : samples) {
    const std::string name = dataset.samples()[size_t(sample)].name;
    encoder =
        write_playable(dataset, sample, one_file ? flags.play : flags.play + "/" + clip_place(name) + ".mp4");
  }
  if (!flags.json)
    std::printf("wrote %zu clips to %s, an MP4 (%s) and a contact sheet (PNG) each\n", samples.size(),
                flags.play.c_str(), encoder.c_str());
  if (!encoder.empty() && encoder != "libx264")
    log_warning("this build of libavcodec has no H.264 encoder; the MP4s hold MPEG-4 part 2");
}

void write_sheet_of(const InspectFlags& flags, const Dataset& dataset, const std::vector<int64_t>& samples) {
  constexpr int64_t kMostClips = 48;
  std::vector<int64_t> shown;
  for (const int64_t i : evenly_spaced(int64_t(samples.size()), kMostClips))
    shown.push_back(samples[size_t(i)]);
  write_sheet(dataset, shown, flags.sheet);
  if (flags.json) return;
  std::printf("wrote %s: %zu of %zu clips%s\n", flags.sheet.c_str(), shown.size(), samples.size(),
              shown.size() == 1 ? ", frames evenly spaced"
                                : ", from left to right, the first, middle and last frame of each");
  for (const int64_t sample : shown) std::printf("  %s\n", dataset.samples()[size_t(sample)].name.c_str());
}

void write_files(const InspectFlags& flags, const Dataset& dataset,
                 const std::vector<ManifestEntry>& entries) {
  const std::vector<int64_t> samples = selected_samples(flags, dataset, entries);
  if (!flags.html.empty()) write_ingest_report(flags.html, flags.dataset);
  if (!flags.export_folder.empty()) {
    export_frames(dataset, entries, samples, flags.export_folder);
    if (!flags.json) std::printf("exported %zu clips to %s\n", samples.size(), flags.export_folder.c_str());
  }
  if (!flags.play.empty()) play(flags, dataset, samples);
  if (!flags.sheet.empty()) write_sheet_of(flags, dataset, samples);
}

void check_flags(const InspectFlags& flags) {
  if (!flags.clip.empty() && flags.export_folder.empty() && flags.play.empty() && flags.sheet.empty())
    throw UsageError("--clip NAME needs --export DIR, --play DIR or --sheet FILE");
  if (!flags.sheet.empty() && !flags.sheet.ends_with(".png"))
    throw UsageError(join_message("--sheet '", flags.sheet, "': expected a name that ends in .png"));
  check_report_path(flags.html, {flags.dataset});
  if (!flags.sheet.empty()) check_writable(flags.sheet);
}

int run(const InspectFlags& flags) {
  check_flags(flags);
  if (flags.verify) return verify_command(flags.dataset, flags.json, flags.quiet);
  const Dataset dataset(flags.dataset);
  const std::vector<ManifestEntry> entries = read_manifest(flags.dataset + "/manifest.jsonl");
  const std::vector<std::string> damage = find_shard_damage(flags.dataset);
  if (flags.json) std::printf("%s\n", report_json(flags, dataset, entries, damage).c_str());
  else if (!flags.writes_files()) print_report(flags, dataset, entries);
  if (flags.writes_files()) write_files(flags, dataset, entries);
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
      "All pictures are made from the tokens that training reads.\n"
      "--export writes DIR/NAME/000000.png, ... (8-bit RGB) and DIR/NAME/frames.json, a list with an object "
      "per picture:\n"
      "  file            its name\n"
      "  pts, time_base  presentation time of the frame in the source file, exact: pts x time_base[0] / "
      "time_base[1] seconds;\n"
      "                  where timestamps start over, on the timeline that joins them; null: not known, of "
      "older data sets\n"
      "  source_seconds  the same in seconds, shortest text that gives the same double\n"
      "  output_seconds  its time in the clip, from 0\n"
      "  source_index    number of the frame in the source file in presentation order, from 0\n"
      "and DIR/frames.json: version, fps, patch, fingerprint and 'clips', each with name, folder (below DIR; "
      "NAME unless\n"
      "that is too long for a file system), frames, width, height, fps, tokens, caption.\n"
      "Exit codes: 0 sound; 1 a shard is damaged; 2 wrong use; 3 failed.";
  command.options.add_positional("dataset", flags->dataset, "data set folder that `zoetrope ingest` wrote");
  command.options.add_flag("json", flags->json, "print JSON");
  command.options.add_flag("verify", flags->verify,
                           "compare all that can be compared, clip by clip, and name what is damaged");
  command.options.add_flag("quiet", flags->quiet, "with --verify: no progress on stderr");
  command.options.add_flag("export", flags->export_folder, "folder to write pictures to");
  command.options.add_flag("play", flags->play,
                           "folder to write NAME.mp4 and a contact sheet NAME.png of each clip to, or with "
                           "--clip a file that ends in .mp4");
  command.options.add_flag("sheet", flags->sheet,
                           "PNG to write: first, middle and last frame of up to 48 clips");
  command.options.add_flag("clip", flags->clip, "with --export, --play, --sheet: this clip alone");
  command.options.add_flag("html", flags->html,
                           "write a page with histograms, pictures and all reasons, as ingest does");
  command.run = [flags] { return run(*flags); };
  return command;
}

}  // namespace zoetrope
