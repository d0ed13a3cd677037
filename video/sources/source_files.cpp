#include "video/sources/source_files.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>

#include "core/check.h"
#include "video/sources/tar_index.h"

namespace zoetrope {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostTextBytes = int64_t(1) << 31;  // a table of ten million clips has less

constexpr const char* kVideoEndings[] = {
    ".mp4", ".m4v",  ".mov", ".mkv",  ".webm", ".avi", ".mpg", ".mpeg", ".m2v",   ".ts",   ".mts", ".m2ts",
    ".vob", ".ogv",  ".ogg", ".flv",  ".wmv",  ".asf", ".3gp", ".3g2",  ".mxf",   ".rm",   ".nut", ".dv",
    ".y4m", ".h264", ".264", ".hevc", ".h265", ".265", ".ivf", ".obu",  ".mjpeg", ".mjpg", ".gif", ".apng"};
constexpr const char* kPictureEndings[] = {".png", ".jpg", ".jpeg", ".webp", ".bmp", ".tif", ".tiff",
                                           ".ppm", ".pgm", ".jxl",  ".jp2",  ".qoi", ".tga"};
/// Tensors and objects that Python's pickle wrote: reading them means running what they say.
constexpr const char* kPickleEndings[] = {".pth", ".pt", ".pickle", ".pkl"};

template <class List>
bool is_one_of(const List& endings, const std::string& ending) {
  return std::find(std::begin(endings), std::end(endings), ending) != std::end(endings);
}

constexpr const char* kPickleReason =
    "a Python pickle, which can't be read without running what it holds, so it never is; give the video that "
    "it was made from, or none";

/// Puts files on the lists.
class Sorter {
 public:
  explicit Sorter(const std::string& root) { found_.root = root; }

  void add(const std::string& path, const MediaLocation& location, bool is_member) {
    const std::string ending = extension_of(path);
    const bool is_caption = ending == ".txt" || ending == ".caption" || ending == ".json";
    const bool is_table = ending == ".jsonl" || ending == ".csv" || ending == ".json";
    if (is_caption) found_.captions.push_back(path);
    if (is_table) found_.tables.push_back(path);
    if (is_caption || is_table) {
      if (is_member) found_.members[path] = location;
    } else if (has_media_name(path)) {
      found_.media.push_back({path, "", location});
    } else if (is_one_of(kPickleEndings, ending)) {
      pickles_.push_back({path, kPickleReason, location});
    } else {
      found_.ignored.push_back(path);
    }
  }
  void add_refused(const std::string& path, const std::string& reason) {
    found_.media.push_back({path, reason, found_.root + "/" + path});
  }
  void add_archive(const std::string& path, const std::string& prefix) {
    TarIndex index;
    try {
      index = read_tar_index(path);
    } catch (const Error&) { index.problem = "the archive can't be read"; }  // without the path
    if (!prefix.empty()) found_.archives.push_back(prefix);
    for (const TarMember& member : index.members) {
      MediaLocation location(path);
      location.offset = member.offset;
      location.size = member.size;
      const std::string name = join_path(prefix, member.name);
      if (member.refused.empty()) add(name, location, true);
      else if (has_media_name(name)) found_.media.push_back({name, member.refused, location});
    }
    // What is whole is kept, and the rest is said under the archive's own name.
    if (!index.problem.empty())
      found_.media.push_back({prefix.empty() ? name_in_folder(path) : prefix, index.problem, path});
  }
  bool is_link_loop(const fs::path& real) const {
    return std::find(parents_.begin(), parents_.end(), real) != parents_.end();
  }
  std::vector<fs::path>& parents() { return parents_; }

  FoundFiles finish() {
    const auto by_path = [](const auto& a, const auto& b) { return a.path < b.path; };
    std::stable_sort(pickles_.begin(), pickles_.end(), by_path);
    std::set<std::string> stems;
    for (const FoundFile& media : found_.media) stems.insert(without_extension(media.path));
    // Of KEY.pth and KEY.pickle beside each other one line is enough.
    for (FoundFile& pickle : pickles_)
      if (stems.insert(without_extension(pickle.path)).second) found_.media.push_back(std::move(pickle));
      else found_.ignored.push_back(pickle.path);
    std::stable_sort(found_.media.begin(), found_.media.end(), by_path);
    for (auto* list : {&found_.captions, &found_.tables, &found_.archives, &found_.ignored})
      std::sort(list->begin(), list->end());
    return std::move(found_);
  }

 private:
  FoundFiles found_;
  std::vector<FoundFile> pickles_;
  std::vector<fs::path> parents_;
};

void take(Sorter& sorter, const std::string& root, const std::string& path, const std::string& name);

void visit(Sorter& sorter, const std::string& root, const std::string& folder) {
  const fs::path path = fs::path(root) / folder;
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  ZT_REQUIRE(!error, "can't open the folder '", path.string(), "': ", error.message());
  sorter.parents().push_back(real);
  fs::directory_iterator entries(path, error);
  ZT_REQUIRE(!error, "can't read the folder '", path.string(), "': ", error.message());
  for (; entries != fs::directory_iterator(); entries.increment(error)) {
    ZT_REQUIRE(!error, "can't read the folder '", path.string(), "': ", error.message());
    const std::string name = entries->path().filename();
    if (!name.starts_with(".")) take(sorter, root, join_path(folder, name), name);
  }
  sorter.parents().pop_back();
}

void take(Sorter& sorter, const std::string& root, const std::string& path, const std::string& name) {
  std::error_code error;
  const fs::path full = fs::path(root) / path;
  if (fs::is_directory(full, error)) {
    const bool loop = sorter.is_link_loop(fs::canonical(full, error));
    if (loop) sorter.add_refused(path, "a symbolic link to a folder that it lies in");
    else if (has_media_name(name)) sorter.add_refused(path, "a folder, not a file");
    if (!loop) visit(sorter, root, path);
  } else if (extension_of(name) == ".tar" && fs::is_regular_file(full, error)) {
    sorter.add_archive(full, path);
  } else {
    sorter.add(path, full.string(), false);
  }
}

}  // namespace

std::string extension_of(const std::string& path) {
  const size_t slash = path.rfind('/'), dot = path.rfind('.');
  if (dot == std::string::npos || (slash != std::string::npos && dot < slash)) return "";
  std::string out = path.substr(dot);
  for (char& c : out) c = char(c >= 'A' && c <= 'Z' ? c + 32 : c);
  return out;
}

std::string without_extension(const std::string& path) {
  return path.substr(0, path.size() - extension_of(path).size());
}

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

std::string name_in_folder(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string join_path(const std::string& folder, const std::string& name) {
  return folder.empty() ? name : folder + "/" + name;
}

bool has_picture_name(const std::string& path) { return is_one_of(kPictureEndings, extension_of(path)); }

bool has_media_name(const std::string& path) {
  return is_one_of(kVideoEndings, extension_of(path)) || has_picture_name(path);
}

std::string FoundFiles::read(const std::string& path) const {
  const auto member = members.find(path);
  return read_bytes(member == members.end() ? MediaLocation(root + "/" + path) : member->second,
                    kMostTextBytes);
}

FoundFiles find_files(const std::string& root) {
  Sorter sorter(root);
  visit(sorter, root, "");
  return sorter.finish();
}

FoundFiles find_members(const std::string& archive) {
  Sorter sorter(archive);
  sorter.add_archive(archive, "");
  return sorter.finish();
}

}  // namespace zoetrope
