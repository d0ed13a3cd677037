// A folder as a user may bring it: tables, lists, caption files, archives and data-set TOMLs. The input is a
// list of files, each begun by a line "--- NAME"; the first one is SOURCE as well when it can be. Refused, or
// planned: every clip has a name of its own, and what --explain prints and the inventory of a restart hold
// it.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "core/check.h"
#include "tests/fuzz/fuzz.h"
#include "video/sources/explain.h"
#include "video/sources/ingest_plan.h"

namespace {

namespace fs = std::filesystem;
using namespace zoetrope;

constexpr size_t kMostFiles = 16;  // as many as any layout needs, so that an input takes milliseconds

/// Whether it lies below a folder, at most two deep and with names that a file system takes.
bool is_harmless(const fs::path& name) {
  if (name.empty() || name.is_absolute() || !name.has_filename()) return false;
  int depth = 0;
  for (const fs::path& part : name)
    if (++depth > 3 || part == "." || part == ".." || part.native().size() > 100) return false;
  return name.native().find('\0') == std::string::npos;
}

/// Writes the files that the input lists; returns the first one's path.
std::string unpack(const std::string& input, const std::string& folder) {
  const std::string mark = "--- ";
  std::string first;
  if (!input.starts_with(mark)) return first;
  size_t at = mark.size();
  for (size_t files = 0; files < kMostFiles && at < input.size(); ++files) {
    const size_t line_end = std::min(input.find('\n', at), input.size());
    const fs::path name = input.substr(at, line_end - at);
    const size_t begin = std::min(line_end + 1, input.size());
    const size_t next = input.find("\n" + mark, line_end);
    const size_t end = next == std::string::npos ? input.size() : next + 1;
    at = next == std::string::npos ? input.size() : end + mark.size();
    if (!is_harmless(name)) continue;
    const fs::path path = folder / name;
    std::error_code error;
    fs::create_directories(path.parent_path(), error);
    std::ofstream(path, std::ios::binary)
        .write(input.data() + begin, std::streamsize(end - std::min(begin, end)));
    if (first.empty()) first = path;
  }
  return first;
}

void require(bool condition) {
  if (!condition) std::abort();
}

void plan(const std::string& source, const IngestPlanOptions& options, const std::string& inventory) {
  IngestPlan plan;
  try {
    plan = plan_ingest(source, options);
  } catch (const Error&) { return; }
  std::set<std::string> names;
  size_t clips = 0;
  for (const PlannedSource& each : plan.sources)
    for (const PlannedClip& clip : each.clips) {
      require(names.insert(clip.name).second || !clip.refused.empty());
      ++clips;
    }
  explain_text(plan, options.fps);
  require(nlohmann::json::parse(explain_json(plan, options.fps)).at("clips").size() == clips);
  const std::vector<InventoryItem> items = take_inventory(plan);
  write_inventory(inventory, items);
  const std::vector<InventoryItem> again = read_inventory(inventory);
  require(again.size() == items.size());
  for (size_t i = 0; i < items.size(); ++i)
    require(again[i].name == items[i].name && again[i].bytes == items[i].bytes &&
            again[i].caption_hash == items[i].caption_hash);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string scratch = fuzz::empty_folder(), folder = scratch + "/source";
  fs::create_directories(folder);
  const std::string first = unpack(std::string(reinterpret_cast<const char*>(data), size), folder);
  if (first.empty()) return 0;
  IngestPlanOptions plain, other;
  plain.missing = MissingCaption::kEmpty;
  other.missing = MissingCaption::kFilename;
  other.captions.split_lines = other.each_alternative = true;
  other.picture_folders = PictureFolders::kClip;
  for (const IngestPlanOptions& options : {plain, other})
    for (const std::string& source : {first, folder}) plan(source, options, scratch);
  return 0;
}
