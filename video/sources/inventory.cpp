#include <nlohmann/json.hpp>

#include "core/check.h"
#include "core/content_hash.h"
#include "core/files.h"
#include "video/sources/ingest_plan.h"

namespace zoetrope {

namespace {

using Json = nlohmann::ordered_json;

/// All that is known of a clip without its content, as text.
std::string known_of(const PlannedSource& source, const PlannedClip& clip) {
  std::string out = join_message(clip.caption, '\0', clip.window.start.num, '/', clip.window.start.den, '\0',
                                 clip.window.end.num, '/', clip.window.end.den, '\0', clip.refused);
  if (clip.window.is_by_frames())
    out += join_message('\0', "frames ", clip.window.first_frame, ' ', clip.window.num_frames, ' ',
                        clip.window.keep.num, '/', clip.window.keep.den);
  if (source.location.is_pictures()) out += join_message('\0', "fps ", source.location.picture_fps);
  const SourceRules& rules = source.rules;
  if (rules.area > 0 || rules.most_frames > 0)
    out +=
        join_message('\0', "area ", rules.area, ' ', rules.upscale.value_or(false), ' ', rules.most_frames);
  if (clip.repeats > 1) out += join_message('\0', "repeats ", clip.repeats);
  return out;
}

}  // namespace

std::string inventory_path(const std::string& folder) { return folder + "/sources.partial"; }

std::vector<InventoryItem> take_inventory(const IngestPlan& plan) {
  std::vector<InventoryItem> items;
  for (const PlannedSource& source : plan.sources) {
    const auto [bytes, time] = size_and_time(source.location);
    for (const PlannedClip& clip : source.clips)
      items.push_back({clip.name, bytes, time, content_hash(known_of(source, clip))});
  }
  return items;
}

void write_inventory(const std::string& folder, const std::vector<InventoryItem>& items) {
  std::string text;
  for (const InventoryItem& item : items)
    text += Json{{"name", item.name},
                 {"bytes", item.bytes},
                 {"modified_ns", item.modified_ns},
                 {"caption_hash", item.caption_hash}}
                .dump() +
            "\n";
  write_file_atomically(inventory_path(folder), text);
}

std::vector<InventoryItem> read_inventory(const std::string& folder) {
  const std::string path = inventory_path(folder);
  std::istringstream in(read_file(path));
  std::vector<InventoryItem> items;
  try {
    for (std::string line; std::getline(in, line);) {
      const Json json = Json::parse(line);
      items.push_back({json.at("name"), json.at("bytes"), json.at("modified_ns"), json.at("caption_hash")});
    }
  } catch (const Json::exception& error) {
    throw Error(
        join_message("'", path, "' is damaged (", error.what(), "); remove '", folder, "' and ingest again"));
  }
  return items;
}

}  // namespace zoetrope
