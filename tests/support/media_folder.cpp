#include "tests/support/media_folder.h"

#include <cstdio>
#include <filesystem>

#include "core/files.h"
#include "tests/support/media.h"
#include "tests/support/small_dataset.h"
#include "video/media/encode.h"

namespace zoetrope::testing_support {

namespace fs = std::filesystem;

std::map<std::string, std::string> folder_bytes(const std::string& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.is_regular_file()) files[entry.path().filename()] = read_file(entry.path());
  return files;
}

std::string folder_difference(const std::string& left, const std::string& right) {
  const auto a = folder_bytes(left), b = folder_bytes(right);
  std::string text;
  for (const auto& [name, bytes] : a)
    if (b.count(name) == 0) text += name + " is missing; ";
    else if (b.at(name) != bytes) text += name + " differs; ";
  for (const auto& [name, bytes] : b)
    if (a.count(name) == 0) text += name + " is too many; ";
  return text;
}

void make_media_folder(const std::string& folder, int count, int max_frames) {
  fs::create_directories(folder);
  const auto with_caption = [&](int i, const std::string& ending) {
    char stem[24];
    std::snprintf(stem, sizeof stem, "/clip%03d", i);
    write_text(folder + stem + ".txt", std::string("the clip ") + (stem + 1));
    return folder + stem + ending;
  };
  for (int i = 0; i < count; ++i) {
    const Clip clip = make_pattern_clip(1 + i * 7 % max_frames, 48, 64, 8, uint64_t(i));
    if (i % 3 == 2) write_png(with_caption(i, ".png"), clip.frame(0), clip.height, clip.width);
    else write_mp4(with_caption(i, ".mp4"), clip);
  }
  char middle[24];
  std::snprintf(middle, sizeof middle, "/clip%03d", count / 2);
  write_text(folder + middle + "x.mp4", "refused");
  write_text(folder + middle + "x.txt", "refused");
}

std::string tiny_png() {
  const TemporaryFolder folder;
  const Clip clip = make_pattern_clip(1, 64, 64, 8, 1);
  write_png(folder.path() + "/a.png", clip.frame(0), clip.height, clip.width);
  return read_file(folder.path() + "/a.png");
}

}  // namespace zoetrope::testing_support
