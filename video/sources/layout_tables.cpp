// Captions and parts of files in metadata tables.
#include <algorithm>
#include <filesystem>
#include <set>

#include "core/check.h"
#include "video/sources/captions.h"
#include "video/sources/layouts.h"
#include "video/sources/metadata_table.h"
#include "video/store/manifest.h"

namespace zoetrope {
namespace {

namespace fs = std::filesystem;

std::string normal(const std::string& path) { return fs::path(path).lexically_normal().string(); }

void add_table(const FoundFiles& files, const std::string& path, MetadataTable table, LayoutReading& out) {
  for (MetadataRow& row : table.rows) {
    CaptionOffer offer;
    offer.layout = Layout::kTable;
    offer.media = resolve_media(files, folder_of(path), row.media);
    offer.from = row.where;
    offer.from.erase(std::remove(offer.from.begin(), offer.from.end(), '\''), offer.from.end());
    offer.file = path;
    offer.captions = std::move(row.captions);
    offer.start = row.start;
    offer.end = row.end;
    offer.fps = row.fps;
    out.offers.push_back(std::move(offer));
  }
  out.used.push_back(path);
  if (!table.unknown.empty()) out.notes.push_back(columns_note(path, table.unknown, false));
  if (!table.answered.empty()) out.notes.push_back(columns_note(path, table.answered, true));
}

}  // namespace

std::string columns_note(const std::string& table, const std::vector<std::string>& columns, bool answered) {
  std::string names;
  for (const std::string& column : columns) names += (names.empty() ? "" : ", ") + printable_name(column);
  return join_message(
      table, answered ? ": columns that the files themselves answer: " : ": columns not used: ", names);
}

bool has_media(const FoundFiles& files, const std::string& path) {
  const auto found = std::lower_bound(files.media.begin(), files.media.end(), path,
                                      [](const FoundFile& file, const auto& p) { return file.path < p; });
  if (found != files.media.end() && found->path == path) return true;
  // The first of a folder's files follows the folder's name and a slash.
  const auto inside = std::lower_bound(files.media.begin(), files.media.end(), path + "/",
                                       [](const FoundFile& file, const auto& p) { return file.path < p; });
  return inside != files.media.end() && inside->path.starts_with(path + "/");
}

std::string resolve_media(const FoundFiles& files, const std::string& folder, const std::string& written) {
  fs::path path(written);
  if (path.is_absolute()) return normal(path.lexically_relative(fs::absolute(files.root).lexically_normal()));
  std::string beside = normal(join_path(folder, written));
  while (beside.ends_with("/")) beside.pop_back();
  for (const std::string& candidate :
       {beside, normal(join_path(join_path(folder, "videos"), written)), normal(written)})
    if (has_media(files, candidate)) return candidate;
  for (const std::string& archive : files.archives)
    if (folder_of(archive) == folder && has_media(files, join_path(archive, written)))
      return join_path(archive, written);
  return beside;
}

LayoutReading read_tables(const FoundFiles& files, const CaptionRules&) {
  LayoutReading out;
  std::set<std::string> stems;
  for (const FoundFile& media : files.media) stems.insert(without_extension(media.path));
  for (const std::string& path : files.tables) {
    const std::string name = name_in_folder(path);
    const bool must_be = name.starts_with("metadata.") || name == "captions.json" ||
                         name == "videos2caption.json" || name == "meta.json";
    const bool is_sidecar =
        !must_be && extension_of(path) == ".json" && stems.count(without_extension(path)) > 0;
    if (is_sidecar) continue;
    std::string bytes;
    try {
      bytes = text_from_bytes(files.read(path));
    } catch (const Error& error) {
      throw Error(join_message("the table '", path, "' can't be used: ", error.what(),
                               "; remove it or write the captions into a file"));
    }
    if (auto table = read_metadata_table(bytes, path, must_be))
      add_table(files, path, std::move(*table), out);
  }
  return out;
}

}  // namespace zoetrope
