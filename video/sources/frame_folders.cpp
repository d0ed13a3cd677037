#include "video/sources/frame_folders.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>

#include "core/check.h"

namespace zoetrope {
namespace {

namespace fs = std::filesystem;

/// "frame_0012.png": "frame_", 12.
struct Numbered {
  std::string prefix;
  int64_t number = 0;
};

std::optional<Numbered> number_of(const std::string& name) {
  const std::string stem = without_extension(name);
  size_t digits = stem.size();
  while (digits > 0 && stem[digits - 1] >= '0' && stem[digits - 1] <= '9') --digits;
  if (digits == stem.size() || stem.size() - digits > 15) return {};
  return Numbered{stem.substr(0, digits), std::strtoll(stem.c_str() + digits, nullptr, 10)};
}

/// Whether all names are one prefix and a number, of one kind, at least two.
bool are_numbered(const std::vector<std::string>& names) {
  if (names.size() < 2) return false;
  const auto first = number_of(names[0]);
  return std::all_of(names.begin(), names.end(), [&](const std::string& name) {
    const auto number = number_of(name);
    return has_picture_name(name) && number && number->prefix == first->prefix &&
           extension_of(name) == extension_of(names[0]);
  });
}

void sort_by_number(std::vector<std::string>& names) {
  std::sort(names.begin(), names.end());
  if (!are_numbered(names)) return;
  std::stable_sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
    return number_of(a)->number < number_of(b)->number;
  });
}

/// "frames 3 to 5 are missing" for each gap; empty without.
std::string gaps_of(const std::vector<std::string>& names) {
  if (!are_numbered(names)) return "";
  std::string out;
  for (size_t i = 1; i < names.size(); ++i) {
    const int64_t before = number_of(names[i - 1])->number, here = number_of(names[i])->number;
    if (here > before + 1) out += join_message(out.empty() ? "" : ", ", before, " to ", here);
  }
  return out;
}

FoundFile clip_of(const MediaLocation& location, const std::string& name) {
  FoundFile clip{name, "", location};
  const auto& pictures = location.pictures;
  for (const std::string& picture : pictures)
    if (extension_of(picture) != extension_of(pictures[0]))
      clip.refused = join_message("its pictures are of several kinds, ", extension_of(pictures[0]), " and ",
                                  extension_of(picture), "; convert them to one");
  return clip;
}

/// Folders and archives with the names of the media right in them.
std::map<std::string, std::vector<std::string>> media_by_folder(const FoundFiles& files) {
  std::map<std::string, std::vector<std::string>> folders;
  for (const FoundFile& media : files.media)
    folders[folder_of(media.path)].push_back(name_in_folder(media.path));
  return folders;
}

std::set<std::string> stems_of_captions(const FoundFiles& files) {
  std::set<std::string> stems;
  for (const std::string& path : files.captions) {
    stems.insert(without_extension(path));
    for (const std::string folder : {"metas", "captions", "prompts", "texts"})
      if (const size_t at = ("/" + path).find("/" + folder + "/"); at != std::string::npos)
        stems.insert(without_extension(path.substr(0, at) + "videos" + path.substr(at + folder.size())));
  }
  return stems;
}

bool is_clip(const std::string& folder, const std::vector<std::string>& names,
             const std::set<std::string>& named, const std::set<std::string>& captions, PictureFolders rule) {
  if (named.count(folder) > 0) return true;
  if (!are_numbered(names) || rule == PictureFolders::kPictures) return false;
  if (rule == PictureFolders::kClip) return true;
  const bool have_captions = std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    const std::string path = join_path(folder, name);
    return named.count(path) > 0 || captions.count(without_extension(path)) > 0;
  });
  const bool has_caption = !folder.empty() && captions.count(folder) > 0;
  if (folder.empty() && !have_captions) return false;
  ZT_REQUIRE(has_caption != have_captions, "the folder '", folder, "' holds ", names.size(),
             " numbered pictures; are they the frames of one clip, or pictures of their own? ",
             has_caption ? "Both have captions" : "Neither has a caption",
             "; say --picture-folders clip or --picture-folders pictures");
  return has_caption;
}

}  // namespace

PictureFolders picture_folders_of(const std::string& name) {
  if (name == "auto") return PictureFolders::kAuto;
  if (name == "clip") return PictureFolders::kClip;
  if (name == "pictures") return PictureFolders::kPictures;
  throw UsageError(join_message("--picture-folders '", name, "': expected auto, clip or pictures"));
}

FoundFile frame_folder(const std::string& folder, const std::string& name, double fps) {
  MediaLocation location(folder);
  location.picture_fps = fps;
  std::error_code error;
  for (fs::directory_iterator entries(folder, error); !error && entries != fs::directory_iterator();
       entries.increment(error)) {
    const std::string file = entries->path().filename();
    if (!file.starts_with(".") && has_picture_name(file)) location.pictures.push_back(file);
  }
  if (error || location.pictures.empty())
    return {name, error ? "can't be read: " + error.message() : "a folder without pictures", folder};
  sort_by_number(location.pictures);
  return clip_of(location, name);
}

std::vector<std::string> fold_frame_folders(FoundFiles& files, const std::set<std::string>& named,
                                            PictureFolders rule, double fps) {
  const std::set<std::string> captions = stems_of_captions(files);
  std::vector<std::string> remarks;
  std::vector<FoundFile> clips;
  std::set<std::string> folded;
  for (auto& [folder, names] : media_by_folder(files)) {
    const bool in_archive = std::any_of(files.archives.begin(), files.archives.end(), [&](const auto& a) {
      return folder == a || folder.starts_with(a + "/");
    });
    // The members of an archive are files of their own: WebDataset's keys are numbers too.
    if (in_archive || !is_clip(folder, names, named, captions, rule)) continue;
    MediaLocation location(join_path(files.root, folder));
    location.picture_fps = fps;
    for (const std::string& name : names)
      if (has_picture_name(name)) location.pictures.push_back(name);
    if (location.pictures.empty()) continue;
    sort_by_number(location.pictures);
    if (const std::string gaps = gaps_of(location.pictures); !gaps.empty())
      remarks.push_back(join_message("the frames of '", folder, "' have gaps in their numbers (", gaps,
                                     "); they follow each other without a pause"));
    clips.push_back(clip_of(location, folder.empty() ? "." : folder));
    folded.insert(folder);
  }
  std::erase_if(files.media, [&](const FoundFile& media) {
    return folded.count(folder_of(media.path)) > 0 && has_picture_name(media.path);
  });
  files.media.insert(files.media.end(), clips.begin(), clips.end());
  std::stable_sort(files.media.begin(), files.media.end(),
                   [](const auto& a, const auto& b) { return a.path < b.path; });
  return remarks;
}

}  // namespace zoetrope
