#include "video/sources/ingest_plan.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "core/check.h"
#include "core/content_hash.h"
#include "core/files.h"
#include "video/sources/captions.h"
#include "video/store/manifest.h"

namespace zoetrope {
namespace {

namespace fs = std::filesystem;

/// Rows of all tables by the path below SOURCE that they name.
struct TableRow {
  MetadataRow row;
  std::string where;  ///< "metadata.csv line 3"
};
using RowsByPath = std::map<std::string, std::vector<TableRow>>;

/// A text file's caption, or why there is none.
struct CaptionFile {
  std::string text, problem;
};

/// Reading a pipe would wait for ever, reading a device never end.
bool is_pipe_or_device(const std::string& path) {
  std::error_code error;
  const bool is_other = fs::is_other(path, error);
  return !error && is_other;
}

CaptionFile read_caption(const std::string& path) {
  if (is_pipe_or_device(path))
    return {"", "its caption file is not a regular file (a pipe, socket or device)"};
  std::string bytes;
  try {
    bytes = read_file(path);
  } catch (const Error&) {
    return {"", "its caption file can't be read"};  // without the path: a data set's bytes must not hold it
  }
  try {
    return {caption_from_bytes(bytes), ""};
  } catch (const Error& error) { return {"", error.what()}; }
}

std::string below_source(const std::string& source, const std::string& table, const std::string& media) {
  fs::path path(media);
  if (path.is_absolute()) path = path.lexically_relative(fs::absolute(source).lexically_normal());
  else path = fs::path(table).parent_path() / path;
  return path.lexically_normal().string();
}

RowsByPath read_tables(const std::string& source, const std::vector<std::string>& tables) {
  RowsByPath rows;
  for (const std::string& table : tables) {
    ZT_REQUIRE(!is_pipe_or_device(source + "/" + table), "'", source, "/", table,
               "' is a pipe, socket or device, expected a file; remove it or write the captions into a file");
    const std::string text = read_file(source + "/" + table);
    const bool is_csv = extension_of(table) == ".csv";
    for (MetadataRow& row : is_csv ? read_metadata_csv(text, table) : read_metadata_jsonl(text, table)) {
      const std::string where = join_message(table, " line ", row.line);
      std::vector<TableRow>& of_media = rows[below_source(source, table, row.media)];
      of_media.push_back({std::move(row), where});
    }
  }
  return rows;
}

std::string name_list(const std::vector<std::string>& names) {
  constexpr size_t kShown = 10;
  std::string out;
  for (size_t i = 0; i < std::min(kShown, names.size()); ++i)
    out += (i == 0 ? "" : ", ") + printable_name(names[i]);
  return names.size() > kShown ? join_message(out, " and ", names.size() - kShown, " more") : out;
}

/// Pairs one file with its text file and its rows.
class Pairing {
 public:
  Pairing(const std::string& source, MissingCaption missing) : source_(source), missing_(missing) {
    found_ = find_files(source);
    for (const std::string& path : found_.captions) caption_files_[without_extension(path)] = path;
    rows_ = read_tables(source, found_.tables);
  }

  IngestPlan plan() {
    for (const FoundFile& file : found_.media) plan_.sources.push_back(plan_file(file));
    for (const auto& [path, rows] : rows_)
      if (used_rows_.count(path) == 0) plan_.sources.push_back(plan_unknown(path, rows));
    std::stable_sort(plan_.sources.begin(), plan_.sources.end(),
                     [](const auto& a, const auto& b) { return a.path < b.path; });
    refuse_equal_names();
    warn();
    return std::move(plan_);
  }

 private:
  PlannedSource plan_file(const FoundFile& file);
  PlannedSource plan_unknown(const std::string& path, const std::vector<TableRow>& rows) const;
  void set_caption(PlannedClip& clip, const std::string& path, const std::vector<const TableRow*>& rows);
  void apply_missing(PlannedClip& clip, const std::string& path, const std::string& why) const;
  void refuse_equal_names();
  void warn();

  std::string source_;
  MissingCaption missing_;
  FoundFiles found_;
  std::map<std::string, std::string> caption_files_;  ///< stem -> path
  std::map<std::string, std::vector<std::string>> caption_users_;
  std::set<std::string> used_rows_;
  std::vector<std::string> overruled_;
  RowsByPath rows_;
  IngestPlan plan_;
};

void Pairing::apply_missing(PlannedClip& clip, const std::string& path, const std::string& why) const {
  if (missing_ == MissingCaption::kEmpty) return;
  if (missing_ == MissingCaption::kFilename) {
    clip.caption = printable_name(fs::path(without_extension(path)).filename());
    return;
  }
  clip.refused = why;
  clip.skipped = missing_ == MissingCaption::kSkip;
  if (!clip.skipped) clip.refused += "; write one, or say --missing-caption empty, filename or skip";
}

/// `rows`: those that belong to this clip.
void Pairing::set_caption(PlannedClip& clip, const std::string& path,
                          const std::vector<const TableRow*>& rows) {
  const std::string stem = without_extension(path);
  const auto file = caption_files_.find(stem);
  std::string from_file, from_rows;
  if (file != caption_files_.end()) {
    const CaptionFile caption = read_caption(source_ + "/" + file->second);
    if (!caption.problem.empty()) {
      clip.refused = caption.problem;
      return;
    }
    from_file = caption.text;
  }
  for (const TableRow* row : rows) {
    const std::string text = row->row.caption.value_or("");
    if (!from_rows.empty() && !text.empty() && text != from_rows) {
      clip.refused = join_message("two different captions: ", rows.front()->where, " and ", row->where);
      return;
    }
    if (from_rows.empty()) from_rows = text;
  }
  if (clip.has_window && !from_rows.empty()) clip.caption = from_rows;
  else clip.caption = from_file.empty() ? from_rows : from_file;
  if (!from_file.empty() && !from_rows.empty() && from_file != from_rows && !clip.has_window)
    overruled_.push_back(path);
  if (!clip.caption.empty()) return;
  apply_missing(clip, path,
                file != caption_files_.end() ? "its caption file is empty"
                : rows.empty()
                    ? "no caption: no text file of the same name beside it, no row in a metadata table"
                    : join_message("no caption in ", rows.front()->where));
}

PlannedSource Pairing::plan_file(const FoundFile& file) {
  PlannedSource out{file.path, {}};
  const auto rows = rows_.find(file.path);
  std::vector<const TableRow*> whole, parts;
  if (rows != rows_.end()) {
    used_rows_.insert(file.path);
    for (const TableRow& row : rows->second) (row.row.start || row.row.end ? parts : whole).push_back(&row);
  }
  const std::string name = printable_name(file.path);
  const auto add = [&](const std::string& clip_name, const std::vector<const TableRow*>& clip_rows,
                       const TableRow* part) {
    PlannedClip clip{clip_name, "", {}, part != nullptr, file.refused, false};
    if (part != nullptr)
      clip.window = {part->row.start.value_or(Window{}.start), part->row.end.value_or(Window{}.end)};
    if (clip.refused.empty()) set_caption(clip, file.path, clip_rows);
    out.clips.push_back(std::move(clip));
  };
  if (parts.empty()) {
    add(name, whole, nullptr);
  } else {
    for (size_t i = 0; i < parts.size(); ++i)
      add(parts.size() == 1 ? name : join_message(name, "#", i), {parts[i]}, parts[i]);
    for (const TableRow* row : whole)
      plan_.warnings.push_back(
          join_message(row->where, ": not used, since other rows cut '", name, "' into parts"));
  }
  const std::string stem = without_extension(file.path);
  if (file.refused.empty() && caption_files_.count(stem) > 0) caption_users_[stem].push_back(file.path);
  return out;
}

PlannedSource Pairing::plan_unknown(const std::string& path, const std::vector<TableRow>& rows) const {
  std::error_code error;
  const bool exists = fs::is_regular_file(fs::path(source_) / path, error) && !path.starts_with("..") &&
                      !fs::path(path).is_absolute();
  const std::string reason =
      join_message(exists ? "its name is not that of a video or picture" : "no such file below SOURCE",
                   ", but ", rows[0].where, " names it");
  return {path, {{printable_name(path), "", {}, false, reason, false}}};
}

void Pairing::refuse_equal_names() {
  std::map<std::string, int> seen;
  for (const PlannedSource& source : plan_.sources)
    for (const PlannedClip& clip : source.clips) ++seen[clip.name];
  for (PlannedSource& source : plan_.sources)
    for (PlannedClip& clip : source.clips)
      if (seen[clip.name] > 1) {
        clip.refused =
            "another file has the same name once both are written with \\x for bytes that are not UTF-8, or "
            "with #; rename one";
        clip.skipped = false;
      }
}

void Pairing::warn() {
  std::vector<std::string> alone, shared;
  for (const auto& [stem, path] : caption_files_) {
    const auto users = caption_users_.find(stem);
    if (users == caption_users_.end()) alone.push_back(path);
    else if (users->second.size() > 1) shared.push_back(path);
  }
  if (!alone.empty())
    plan_.warnings.push_back(join_message(alone.size(), " text files belong to no clip: ", name_list(alone)));
  if (!shared.empty())
    plan_.warnings.push_back(join_message(
        shared.size(), " text files are the caption of several media of the same stem: ", name_list(shared)));
  if (!overruled_.empty())
    plan_.warnings.push_back(join_message(
        overruled_.size(), " clips have a caption file and another caption in a table; the file was taken: ",
        name_list(overruled_)));
  plan_.ignored_files = int64_t(found_.ignored.size());
}

}  // namespace

MissingCaption missing_caption_of(const std::string& name) {
  if (name == "error") return MissingCaption::kError;
  if (name == "skip") return MissingCaption::kSkip;
  if (name == "empty") return MissingCaption::kEmpty;
  if (name == "filename") return MissingCaption::kFilename;
  throw UsageError(join_message("--missing-caption '", name, "': expected error, skip, empty or filename"));
}

IngestPlan plan_ingest(const std::string& source, MissingCaption missing) {
  return Pairing(source, missing).plan();
}

}  // namespace zoetrope
