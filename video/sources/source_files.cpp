#include "video/sources/source_files.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "core/check.h"

namespace zoetrope {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMediaEndings[] = {
    ".mp4", ".m4v",  ".mov",   ".mkv",  ".webm", ".avi",  ".mpg", ".mpeg", ".m2v",  ".ts",
    ".mts", ".m2ts", ".vob",   ".ogv",  ".ogg",  ".flv",  ".wmv", ".asf",  ".3gp",  ".3g2",
    ".mxf", ".rm",   ".nut",   ".dv",   ".y4m",  ".h264", ".264", ".hevc", ".h265", ".265",
    ".ivf", ".obu",  ".mjpeg", ".mjpg", ".gif",  ".apng", ".png", ".jpg",  ".jpeg", ".webp",
    ".bmp", ".tif",  ".tiff",  ".ppm",  ".pgm",  ".jxl",  ".jp2", ".qoi",  ".tga"};

class Walker {
 public:
  explicit Walker(const std::string& source) : source_(source) {}

  FoundFiles walk() {
    visit("");
    std::sort(found_.media.begin(), found_.media.end(),
              [](const auto& a, const auto& b) { return a.path < b.path; });
    for (auto* list : {&found_.captions, &found_.tables, &found_.ignored})
      std::sort(list->begin(), list->end());
    return std::move(found_);
  }

 private:
  void visit(const std::string& folder) {
    const fs::path path = fs::path(source_) / folder;
    std::error_code error;
    const fs::path real = fs::canonical(path, error);
    ZT_REQUIRE(!error, "can't open the folder '", path.string(), "': ", error.message());
    parents_.push_back(real);
    fs::directory_iterator entries(path, error);
    ZT_REQUIRE(!error, "can't read the folder '", path.string(), "': ", error.message());
    for (; entries != fs::directory_iterator(); entries.increment(error)) {
      ZT_REQUIRE(!error, "can't read the folder '", path.string(), "': ", error.message());
      const std::string name = entries->path().filename();
      if (!name.starts_with(".")) take(folder.empty() ? name : folder + "/" + name, name);
    }
    parents_.pop_back();
  }

  void take(const std::string& path, const std::string& name) {
    std::error_code error;
    const fs::path full = fs::path(source_) / path;
    const bool is_folder = fs::is_directory(full, error);
    if (is_folder) {
      const fs::path real = fs::canonical(full, error);
      const bool loop = std::find(parents_.begin(), parents_.end(), real) != parents_.end();
      if (loop) found_.media.push_back({path, "a symbolic link to a folder that it lies in"});
      else if (has_media_name(name)) found_.media.push_back({path, "a folder, not a file"});
      if (!loop) visit(path);
    } else if (name == "metadata.jsonl" || name == "metadata.csv") {
      found_.tables.push_back(path);
    } else if (extension_of(name) == ".txt") {
      found_.captions.push_back(path);
    } else if (has_media_name(name)) {
      found_.media.push_back({path, ""});
    } else {
      found_.ignored.push_back(path);
    }
  }

  std::string source_;
  std::vector<fs::path> parents_;
  FoundFiles found_;
};

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

bool has_media_name(const std::string& path) {
  const std::string ending = extension_of(path);
  return std::find(std::begin(kMediaEndings), std::end(kMediaEndings), ending) != std::end(kMediaEndings);
}

FoundFiles find_files(const std::string& source) { return Walker(source).walk(); }

}  // namespace zoetrope
