// zoetrope ingest: folder of clips and captions -> data set.
#include <algorithm>
#include <cstdio>
#include <thread>

#include "core/log.h"
#include "tools/commands.h"
#include "tools/dataset_report.h"
#include "tools/ingest_analysis_flags.h"
#include "tools/ingest_layout.h"
#include "tools/ingest_report.h"
#include "tools/progress_line.h"
#include "video/ingest/ingest.h"

namespace zoetrope {
namespace {

struct IngestFlags {
  std::string source, dataset, part, html, damaged = "keep-clean", hdr = "tonemap";
  LayoutFlags layout;
  double fps = 8, max_seconds = 10;
  int64_t area = int64_t(96) * 64, workers = std::max(1u, std::thread::hardware_concurrency());
  int64_t shard_megabytes = 64, shard_samples = 1024;
  std::vector<int64_t> patch{4, 8, 8};
  double clip_seconds = 3600;
  DecodeLimits limits;
  bool upscale = false, deinterlace = false, update = false, repair = false, json = false, quiet = false,
       explain = false;
  AnalysisFlags analysis;

  void visit(auto&& field) {
    field("fps", fps, "frames per second of all clips; each frame is the one shown at its time");
    field("area", area, "pixels of a frame, at each clip's own aspect");
    field("max-seconds", max_seconds, "longer clips are cut to this length");
    analysis.visit(field);
    field("upscale", upscale, "enlarge clips smaller than the area instead of keeping their size");
    field("deinterlace", deinterlace, "make whole pictures of those that are flagged as two fields (bwdif)");
    field("hdr", hdr, "PQ and HLG clips: tone-mapped to BT.709, or refused",
          std::vector<std::string>{"tonemap", "refuse"});
    field("patch", patch, "frames, rows, columns of a token");
    layout.visit(field);
    field("damaged", damaged,
          "a damaged clip: 'keep-clean' keeps its longest run of sound frames, 'drop' refuses it, 'fail' "
          "ends the "
          "run before anything is sealed",
          std::vector<std::string>{"keep-clean", "drop", "fail"});
    limits.visit(field);
    field("clip-seconds", clip_seconds,
          "a watchdog: a file that takes longer stays undecided, and the next run tries it again");
    field("shard-megabytes", shard_megabytes, "a shard ends with the clip that reaches this payload");
    field("shard-samples", shard_samples, "or this number of clips");
    field("workers", workers, "files decoded at a time; changes no byte of the data set");
  }
};

/// Shows how far the run is; bytes and frames of files that are being decoded count too.
class IngestLine {
 public:
  IngestLine(bool quiet, const DecodeMeter& meter)
      : line_(quiet, [&meter](ProgressState& state) {
          state.bytes = std::clamp<int64_t>(meter.packet_bytes, state.bytes, state.total_bytes);
          state.frames = meter.frames;
        }) {}
  void show(const IngestProgress& now) {
    line_.show({"clips", now.done, now.total, now.refused, 0, now.bytes, now.total_bytes});
  }
  void finish() { line_.finish(); }

 private:
  ProgressLine line_;
};

IngestRequest request_of(const IngestFlags& flags) {
  if (flags.patch.size() != 3) throw UsageError("--patch needs three numbers T,H,W, like 4,8,8");
  if (flags.shard_megabytes < 1 || flags.shard_megabytes > 4096 || flags.shard_samples < 1)
    throw UsageError("--shard-megabytes: expected 1 to 4096; --shard-samples: at least 1");
  IngestRequest request;
  request.source = flags.source;
  request.dataset = flags.dataset;
  request.decode.size = {
      {flags.patch[0], flags.patch[1], flags.patch[2]}, flags.area, flags.upscale, flags.hdr == "tonemap"};
  request.decode.fps = flags.fps;
  request.decode.deinterlace = flags.deinterlace;
  request.decode.max_seconds = flags.max_seconds;
  request.plan = flags.layout.options();
  request.damaged = damage_policy_of(flags.damaged);
  request.decode.limits = flags.limits;
  request.decode.clip_seconds = flags.clip_seconds;
  request.workers = flags.workers;
  request.analysis = flags.analysis.request();
  request.update = flags.update;
  request.repair = flags.repair;
  if (!flags.part.empty()) request.part = parse_part(flags.part);
  request.shard_bytes = flags.shard_megabytes << 20;
  request.shard_samples = flags.shard_samples;
  return request;
}

void warn(const IngestResult& result) {
  constexpr int64_t kShown = 50;
  for (const std::string& warning : result.warnings) log_warning(warning);
  int64_t shown = 0;
  for (const ManifestEntry& entry : result.entries)
    if ((!entry.has_sample() || entry.found_damage) && ++shown <= kShown)
      log_warning(join_message(entry.name,
                               entry.has_sample()  ? ": "
                               : entry.undecided() ? " undecided: "
                               : entry.skipped     ? " skipped: "
                                                   : " refused: ",
                               entry.reason));
  if (shown > kShown) log_warning(join_message(shown - kShown, " more are listed in manifest.jsonl"));
}

/// What only this run knows, for the report.
std::vector<std::string> notes_of(const IngestResult& result) {
  std::vector<std::string> notes = result.warnings;
  if (result.ignored_files > 0)
    notes.push_back(
        join_message(result.ignored_files, " files that are no videos, pictures or captions were not read"));
  return notes;
}

int run(const IngestFlags& flags) {
  IngestRequest request = request_of(flags);
  if (flags.explain) return explain_ingest(request, flags.json);
  check_report_path(flags.html, {flags.source, flags.dataset});
  DecodeMeter meter;
  request.decode.meter = &meter;
  IngestLine line(flags.quiet, meter);
  const IngestResult result = ingest(request, [&](const IngestProgress& state) { line.show(state); });
  line.finish();
  warn(result);
  const IngestCounts counts = count_verdicts(result.entries);
  if (flags.json) {
    std::printf("%s\n", counts_json(counts, result.entries, pairing_json(result.pairing)).c_str());
  } else {
    if (result.was_complete)
      std::printf("%s is complete already, and its sources are the same\n", flags.dataset.c_str());
    else if (result.resumed > 0)
      std::printf("went on after %lld clips of an earlier run\n", static_cast<long long>(result.resumed));
    if (result.repaired > 0)
      std::printf("made %lld damaged shards anew\n", static_cast<long long>(result.repaired));
    if (result.reused > 0)
      std::printf("took %lld unchanged clips over without decoding them\n",
                  static_cast<long long>(result.reused));
    std::fputs((counts_text(counts, result.entries, flags.fps) + reading_text_of(result)).c_str(), stdout);
    if (result.ignored_files > 0)
      std::printf("%lld files that are no videos, pictures or captions were not read\n",
                  static_cast<long long>(result.ignored_files));
  }
  if (result.undecided > 0)
    throw Error(
        join_message("'", flags.dataset, "' is not finished: ", result.undecided,
                     " clips are undecided (see the warnings); run the same command again, it goes on "
                     "from them, with more --clip-seconds if that stopped them"));
  if (!flags.html.empty()) write_ingest_report(flags.html, flags.dataset, notes_of(result));
  else if (!flags.json && counts.kept + counts.trimmed > 0)
    std::printf("'zoetrope inspect %s --html FILE' shows all of it as a page\n", flags.dataset.c_str());
  // A part may hold few files or none; only the whole data set can be unusable.
  if (!request.part.is_part()) require_usable(counts, flags.dataset);
  return exit_code_of(counts);
}

}  // namespace

Command ingest_command() {
  auto flags = std::make_shared<IngestFlags>();
  Command command;
  command.name = "ingest";
  command.help = "Turn a folder of clips and captions into a data set";
  command.footer =
      "Captions: clip.txt, .caption or .json beside clip.mp4; metas/clip.txt for videos/clip.mp4; "
      "prompts.txt "
      "with videos.txt; rows of\n.csv, .jsonl and .json tables (columns like file_name, caption, start, "
      "end); "
      "captions.json; .tar archives. SOURCE may also be\na table, an archive, or the data-set .toml of "
      "diffusion-pipe or musubi-tuner. --explain shows how each clip is read.\n"
      "DATASET holds what sources and options decide, byte for byte; --html writes its page elsewhere.\n"
      "Killed at any moment, the same command goes on where it was, and the bytes are the same.\n"
      "Exit codes: 0 done; 1 done, but a file was refused or damaged; 2 wrong use; 3 failed, nothing usable, "
      "or not finished.";
  command.options.add_positional(
      "source", flags->source,
      "folder with videos, pictures and captions; or a table, a .tar, a data set's .toml");
  command.options.add_positional("dataset", flags->dataset, "folder to make");
  command.options.add_table("ingest", *flags);
  command.options.add_flag(
      "update", flags->update,
      "accept that sources changed since, and decode those alone; the bytes are those of a new data set");
  command.options.add_flag(
      "repair", flags->repair,
      "compare all shards of a finished data set with their hashes, and make damaged ones anew");
  command.options.add_flag(
      "part", flags->part,
      "I/N: only this share of the files, for N machines; 'zoetrope merge' joins their folders");
  command.options.add_flag("json", flags->json, "print the summary as JSON");
  command.options.add_flag("html", flags->html,
                           "write a page with histograms, pictures and all reasons; not in DATASET");
  command.options.add_flag("quiet", flags->quiet, "no progress on stderr");
  command.options.add_flag("explain", flags->explain, "show how each clip would be read; decodes nothing");
  command.ignored_tables = {"data",         "model",      "flow",     "plan",  "parallel",
                            "optimisation", "checkpoint", "numerics", "bench", "sample"};
  command.run = [flags] { return run(*flags); };
  return command;
}

}  // namespace zoetrope
