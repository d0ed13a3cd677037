#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "core/check.h"
#include "core/content_hash.h"
#include "core/files.h"
#include "video/sources/ingest_plan.h"

namespace zoetrope {

using Json = nlohmann::ordered_json;

std::string inventory_path(const std::string& folder) { return folder + "/sources.partial"; }

std::vector<InventoryItem> take_inventory(const std::string& source, const IngestPlan& plan) {
  std::vector<InventoryItem> items;
  for (const PlannedSource& file : plan.sources) {
    struct stat status;
    const bool there = stat((source + "/" + file.path).c_str(), &status) == 0 && S_ISREG(status.st_mode);
    for (const PlannedClip& clip : file.clips) {
      InventoryItem item{clip.name, there ? int64_t(status.st_size) : -1, 0, ""};
      if (there) item.modified_ns = int64_t(status.st_mtim.tv_sec) * 1000000000 + status.st_mtim.tv_nsec;
      item.caption_hash =
          content_hash(join_message(clip.caption, '\0', clip.window.start.num, '/', clip.window.start.den,
                                    '\0', clip.window.end.num, '/', clip.window.end.den, '\0', clip.refused));
      items.push_back(std::move(item));
    }
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
