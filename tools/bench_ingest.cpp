#include "tools/bench_ingest.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "core/check.h"
#include "core/child_process.h"
#include "tools/ingest_stages.h"
#include "tools/median.h"
#include "tools/text_format.h"
#include "video/store/manifest.h"

namespace zoetrope {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr int64_t kArea = 832 * 480;  ///< the area of Wan's 480p

/// A folder for what is made on the way, removed at the end.
class Scratch {
 public:
  explicit Scratch(const std::string& parent)
      : path_((parent.empty() ? fs::temp_directory_path() : fs::path(parent)) /
              ("zoetrope-bench-" + std::to_string(getpid()))) {
    fs::create_directories(path_);
  }
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  std::string in(const std::string& name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

/// The whole command once: a folder of clips to a data set that is thrown away. `area` 0: the default size.
Finished ingest_once(const Scratch& scratch, const std::string& source, int64_t area, int64_t workers) {
  const std::string data = scratch.in("data");
  fs::remove_all(data);
  std::vector<std::string> command = {own_program(),       "ingest", source,      data,
                                      "--missing-caption", "empty",  "--workers", std::to_string(workers)};
  if (area > 0)
    for (const char* word : {"--fps", "30", "--max-seconds", "100000", "--area"}) command.emplace_back(word);
  if (area > 0) command.push_back(std::to_string(area));
  return run_successfully(command);
}

/// The video's coded frames `loops` times over at 30 per second, so that each is shown once.
void make_loop(const std::string& video, int64_t loops, const std::string& out) {
  fs::create_directories(fs::path(out).parent_path());
  const std::string plain = out + ".mp4";
  const std::vector<std::string> ffmpeg = {"ffmpeg", "-v", "error", "-nostdin", "-y"};
  const auto run = [&](std::vector<std::string> words) {
    words.insert(words.begin(), ffmpeg.begin(), ffmpeg.end());
    run_successfully(words);
  };
  // A time base in which frames of 1/30 s are whole; each frame as long as the others, also the last.
  run({"-stream_loop", std::to_string(loops - 1), "-i", video, "-map", "0:v:0", "-c", "copy",
       "-video_track_timescale", "90000", plain});
  run({"-i", plain, "-c", "copy", "-video_track_timescale", "90000", "-bsf:v",
       "setts=ts=N/(30*TB):duration=1/(30*TB)", out});
  fs::remove(plain);
}

/// Frames of the data set's one clip. Throws: Error unless it shows every frame once.
int64_t require_all_frames(const std::string& data) {
  const std::vector<ManifestEntry> entries = read_manifest(data + "/manifest.jsonl");
  ZT_REQUIRE(entries.size() == 1 && !entries[0].refused(),
             "the looped clip was refused: ", entries.empty() ? "no line" : entries[0].reason);
  const SourceFacts& facts = entries[0].facts;
  ZT_REQUIRE(facts.used >= facts.presented - 3 && entries[0].num_frames == facts.used, "ingest used ",
             facts.used, " of ", facts.presented, " frames in ", entries[0].num_frames,
             ", expected each once; a video with reordered frames can't be looped");
  return facts.presented;
}

void line(const IngestBench& bench, const std::string& text) {
  if (!bench.prints) return;
  std::printf("%s\n", text.c_str());
  std::fflush(stdout);
}

/// Decode and ingest in turns.
Json measure_share(const IngestBench& bench, const Scratch& scratch) {
  const std::string folder = scratch.in("one"), file = folder + "/loop.mp4";
  make_loop(bench.video, bench.loops, file);
  ingest_once(scratch, folder, kArea, 1);
  const int64_t frames = require_all_frames(scratch.in("data"));
  const double megabits = 8e-6 * double(fs::file_size(file)) / (double(frames) / 30);
  line(bench, format_text("%lld frames, %.1f Mb/s at 30 frames/s", static_cast<long long>(frames), megabits));
  Json runs = Json::array();
  std::vector<double> shares, decodes, ingests;
  for (int64_t i = 0; i < bench.runs; ++i) {
    const Finished decode =
        run_successfully({"ffmpeg", "-v", "error", "-nostdin", "-threads", "1", "-i", file, "-map", "0:v:0",
                          "-vsync", "passthrough", "-f", "null", "-"});
    const Finished ingest = ingest_once(scratch, folder, kArea, 1);
    shares.push_back(decode.cpu() / ingest.cpu());
    decodes.push_back(1e3 * decode.cpu() / double(frames));
    ingests.push_back(1e3 * ingest.cpu() / double(frames));
    runs.push_back({{"decode_s", decode.cpu()},
                    {"ingest_user_s", ingest.user},
                    {"ingest_system_s", ingest.system},
                    {"share", shares.back()}});
    line(bench, format_text("run %lld: decode %.2f s, ingest %.2f s (%.2f user + %.2f system): %.1f %%",
                            static_cast<long long>(i + 1), decode.cpu(), ingest.cpu(), ingest.user,
                            ingest.system, 100 * shares.back()));
  }
  line(bench, format_text("decode / ingest, median: %.1f %%; ms per frame: decode %.2f, ingest %.2f",
                          100 * median(shares), median(decodes), median(ingests)));
  Json stages;
  for (const StageTime& stage : time_ingest_stages(file, scratch.in(""), kArea)) {
    stages[stage.stage] = stage.milliseconds;
    line(bench, format_text("  %-26s %.2f ms per frame", stage.stage.c_str(), stage.milliseconds));
  }
  return {{"frames", frames},
          {"megabits_per_second", megabits},
          {"share", median(shares)},
          {"decode_ms", median(decodes)},
          {"ingest_ms", median(ingests)},
          {"runs", runs},
          {"stages_ms_per_frame", stages}};
}

/// Links `count` clips to files in turn.
std::string make_many(const Scratch& scratch, const std::string& name, int64_t count,
                      const std::vector<std::string>& files) {
  const std::string folder = scratch.in(name);
  fs::create_directories(folder);
  for (int64_t i = 0; i < count; ++i)
    fs::create_hard_link(files[size_t(i) % files.size()],
                         folder + format_text("/%06lld.mp4", static_cast<long long>(i)));
  return folder;
}

/// Many clips over 1, 2, ... workers, each number once per round.
Json measure_workers(const IngestBench& bench, const Scratch& scratch) {
  constexpr int64_t kClips = 8, kLoops = 2;
  make_loop(bench.video, kLoops, scratch.in("short/loop.mp4"));
  const std::string folder = make_many(scratch, "several", kClips, {scratch.in("short/loop.mp4")});
  Json rows = Json::array();
  double single = 0;
  for (int64_t workers = 1; workers <= int64_t(std::max(1u, std::thread::hardware_concurrency()));
       workers *= 2) {
    std::vector<double> walls, cpus;
    for (int64_t i = 0; i < std::min<int64_t>(bench.runs, 3); ++i) {
      const Finished use = ingest_once(scratch, folder, kArea, workers);
      walls.push_back(use.wall), cpus.push_back(use.cpu());
    }
    if (workers == 1) single = median(walls);
    rows.push_back({{"workers", workers},
                    {"wall_s", median(walls)},
                    {"cpu_s", median(cpus)},
                    {"speed_up", single / median(walls)}});
    line(bench, format_text("%lld clips, %lld workers: wall %.2f s, CPU %.2f s, %.2f times as fast as one",
                            static_cast<long long>(kClips), static_cast<long long>(workers), median(walls),
                            median(cpus), single / median(walls)));
  }
  return rows;
}

/// Peak memory over many small clips.
Json measure_memory(const IngestBench& bench, const Scratch& scratch) {
  fs::create_directories(scratch.in("small"));
  std::vector<std::string> files;
  for (const char* source :
       {"testsrc2=s=96x64:r=8:d=1", "mandelbrot=s=128x96:r=8", "smptebars=s=64x96:r=8:d=2"}) {
    files.push_back(scratch.in("small/" + std::to_string(files.size()) + ".mp4"));
    run_successfully({"ffmpeg", "-v", "error", "-nostdin", "-y", "-f", "lavfi", "-i", source, "-frames:v",
                      "9", "-c:v", "libx264", files.back()});
  }
  Json rows = Json::array();
  const int64_t workers = int64_t(std::max(1u, std::thread::hardware_concurrency()));
  for (int64_t count : {bench.clips / 10, bench.clips}) {
    const std::string folder = make_many(scratch, "many-" + std::to_string(count), count, files);
    const Finished use = ingest_once(scratch, folder, 0, workers);
    rows.push_back({{"clips", count}, {"peak_bytes", use.peak_bytes}, {"wall_s", use.wall}});
    line(bench, format_text("%lld clips, %lld workers: peak %.1f MB, %.0f clips/s",
                            static_cast<long long>(count), static_cast<long long>(workers),
                            1e-6 * double(use.peak_bytes), double(count) / use.wall));
  }
  return rows;
}

}  // namespace

std::string run_bench_ingest(const IngestBench& bench) {
  const Scratch scratch(bench.scratch);
  Json out;
  if (bench.clips > 0) {
    out["memory"] = measure_memory(bench, scratch);
    return out.dump(2);
  }
  if (bench.video.empty() || !fs::is_regular_file(bench.video))
    throw UsageError(
        "bench ingest needs --video FILE, a camera clip (tools/quickstart_clips.sh unpacks one to "
        "quickstart/downloads/sources/phone.mp4); found '" +
        bench.video + "'");
  out["one_core"] = measure_share(bench, scratch);
  out["workers"] = measure_workers(bench, scratch);
  return out.dump(2);
}

}  // namespace zoetrope
