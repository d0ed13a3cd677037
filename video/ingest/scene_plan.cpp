#include "video/ingest/scene_plan.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/check.h"
#include "core/files.h"
#include "core/thread_pool.h"
#include "video/ingest/ingest_tasks.h"
#include "video/sources/source_changes.h"
#include "video/store/dataset_writer.h"
#include "video/store/manifest.h"

namespace zoetrope {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// Lines found so far by a run that was killed, in the order that workers finished.
std::string unfinished_path(const std::string& dataset) { return dataset + "/scenes.partial"; }

/// Cuts by content key; lines that are torn are left out.
std::map<std::string, FileScenes> read_known(const std::string& dataset) {
  std::map<std::string, FileScenes> known;
  for (const std::string& path : {scenes_path(dataset), unfinished_path(dataset)}) {
    if (!fs::exists(path)) continue;
    std::istringstream in(read_file(path));
    for (std::string text; std::getline(in, text);) {
      try {
        SceneLine line = parse_scenes_line(text);
        known[line.key] = std::move(line.scenes);
      } catch (const Error&) { continue; }
    }
  }
  return known;
}

/// The one clip of a file that may be cut, or null.
const PlannedClip* whole_clip(const PlannedSource& source) {
  const bool whole =
      source.clips.size() == 1 && !source.clips[0].has_window && source.clips[0].refused.empty();
  return whole ? &source.clips[0] : nullptr;
}

void replace_by_scenes(const FileScenes& scenes, double max_seconds, PlannedSource& source) {
  const std::vector<Window> windows = windows_of(scenes, max_seconds);
  if (windows.size() < 2) return;
  const PlannedClip whole = source.clips[0];
  source.clips.clear();
  for (size_t i = 0; i < windows.size(); ++i) {
    PlannedClip clip = whole;
    clip.name = join_message(whole.name, "#", i);
    clip.window = windows[i];
    clip.has_window = true;
    source.clips.push_back(std::move(clip));
  }
}

/// What the cuts of a file depend on.
std::string content_key(SceneDetector detector, const MediaLocation& location, const std::string& hash) {
  const std::string key = join_message(name_of(detector), ' ', size_and_time(location).first, ' ', hash);
  return location.is_pictures() ? join_message(key, " fps ", location.picture_fps) : key;
}

Json time_json(Ratio time) { return {time.num, time.den}; }
Ratio time_of(const Json& json) {
  const Ratio time{json.at(0), json.at(1)};
  ZT_REQUIRE(time.den > 0, "a time with denominator ", time.den);
  return time;
}

}  // namespace

std::string scenes_path(const std::string& dataset) { return dataset + "/scenes.jsonl"; }

std::string scenes_line(const std::string& name, const std::string& content_key, const FileScenes& scenes) {
  Json line = {{"name", name},
               {"key", content_key},
               {"frames", scenes.num_frames},
               {"last_time", time_json(scenes.last_time)},
               {"cuts", Json::array()}};
  for (const SceneCut& cut : scenes.cuts)
    line["cuts"].push_back({{"frame", cut.frame},
                            {"time", time_json(cut.time)},
                            {"seconds", cut.time.value()},
                            {"score", std::round(cut.score * 1e4) / 1e4}});
  return line.dump();
}

SceneLine parse_scenes_line(const std::string& text) {
  try {
    const Json line = Json::parse(text);
    SceneLine out{line.at("key"), {line.at("frames"), time_of(line.at("last_time")), {}}};
    for (const Json& cut : line.at("cuts"))
      out.scenes.cuts.push_back({cut.at("frame"), time_of(cut.at("time")), cut.at("score")});
    return out;
  } catch (const Json::exception& error) {
    throw Error(join_message("not a line of scenes.jsonl: ", error.what()));
  }
}

void cut_into_scenes(const ScenePlan& rules, IngestPlan& plan) {
  std::map<std::string, FileScenes> known = read_known(rules.dataset);
  std::vector<std::string> keys(plan.sources.size());
  std::ofstream unfinished;  // opened when there is something to write: a finished data set may be read-only
  std::mutex lock;
  ThreadPool(int(rules.workers)).parallel_for(int64_t(plan.sources.size()), [&](int64_t index) {
    const PlannedSource& source = plan.sources[size_t(index)];
    const PlannedClip* clip = whole_clip(source);
    const std::string hash = clip == nullptr ? "" : hash_or_nothing(source.location);
    if (hash.empty()) return;
    const std::string key = content_key(rules.detector, source.location, hash);
    keys[size_t(index)] = key;
    {
      const std::lock_guard guard(lock);
      if (known.count(key) > 0) return;
    }
    FileScenes scenes = find_scenes(source.location, rules.detector, rules.decode);
    const std::lock_guard guard(lock);
    if (!unfinished.is_open()) {
      make_dataset_folder(rules.dataset);
      unfinished.open(unfinished_path(rules.dataset), std::ios::app);
      ZT_REQUIRE(unfinished, "can't write '", unfinished_path(rules.dataset), "'");
    }
    // One line of a killed run may be torn: it starts anew after it.
    unfinished << '\n' << scenes_line(clip->name, key, scenes) << '\n' << std::flush;
    known[key] = std::move(scenes);
  });
  std::string text;
  for (size_t i = 0; i < plan.sources.size(); ++i) {
    if (keys[i].empty()) continue;
    // As it is read back: a run that finds the cuts and one that remembers them do the same.
    const std::string line = scenes_line(plan.sources[i].clips[0].name, keys[i], known[keys[i]]);
    text += line + "\n";
    replace_by_scenes(parse_scenes_line(line).scenes, rules_for(plan.sources[i], rules.decode).max_seconds,
                      plan.sources[i]);
  }
  if (!fs::exists(scenes_path(rules.dataset)) || read_file(scenes_path(rules.dataset)) != text) {
    make_dataset_folder(rules.dataset);
    write_file_atomically(scenes_path(rules.dataset), text);
  }
  std::error_code ignored;
  fs::remove(unfinished_path(rules.dataset), ignored);
}

}  // namespace zoetrope
