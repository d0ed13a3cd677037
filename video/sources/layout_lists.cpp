// Two lists of the same number of lines: captions and videos.
#include <algorithm>
#include <map>

#include "core/check.h"
#include "video/sources/captions.h"
#include "video/sources/layouts.h"

namespace zoetrope {
namespace {

using Names = std::vector<std::string>;

/// The list in a folder by one of its names; empty when there is none. Throws: Error when there are two.
std::string list_in(const FoundFiles& files, const std::string& folder, const Names& names,
                    const char* kind) {
  std::string found;
  for (const std::string& name : names) {
    const std::string path = join_path(folder, name);
    if (!std::binary_search(files.captions.begin(), files.captions.end(), path)) continue;
    ZT_REQUIRE(found.empty(), "both '", found, "' and '", path, "' could be the list of ", kind,
               "; remove or rename one");
    found = path;
  }
  return found;
}

/// Lines without blanks at their ends; blank lines at the end of the file don't count.
Names read_lines(const FoundFiles& files, const std::string& path) {
  Names lines;
  try {
    for (const std::string& line : lines_of(text_from_bytes(files.read(path))))
      lines.push_back(cut_blanks(line));
  } catch (const Error& error) {
    throw Error(join_message("the list '", path, "' can't be used: ", error.what()));
  }
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

void read_pair(const FoundFiles& files, const std::string& videos, const std::string& captions,
               LayoutReading& out) {
  const Names paths = read_lines(files, videos), texts = read_lines(files, captions);
  ZT_REQUIRE(paths.size() == texts.size(), "'", captions, "' has ", texts.size(), " lines and '", videos,
             "' ", paths.size(),
             "; line i of one belongs to line i of the other, so make them the same number");
  for (size_t i = 0; i < paths.size(); ++i) {
    const std::string where = join_message(" line ", i + 1);
    ZT_REQUIRE(!paths[i].empty(), "'", videos, "'", where, " is blank, expected a path");
    CaptionOffer offer;
    offer.layout = Layout::kLists;
    offer.media = resolve_media(files, folder_of(videos), paths[i]);
    offer.from = captions + where;
    offer.file = captions;
    try {
      if (std::string caption = caption_from_text(texts[i]); !caption.empty())
        offer.captions.push_back(std::move(caption));
    } catch (const Error& error) { offer.problem = error.what(); }
    out.offers.push_back(std::move(offer));
  }
  out.used.push_back(videos);
  out.used.push_back(captions);
}

}  // namespace

LayoutReading read_parallel_lists(const FoundFiles& files, const CaptionRules&) {
  const Names kVideos = {"videos.txt", "video.txt"};
  const Names kCaptions = {"captions.txt", "caption.txt", "prompts.txt", "prompt.txt"};
  LayoutReading out;
  std::map<std::string, int> folders;
  for (const std::string& path : files.captions)
    if (std::find(kVideos.begin(), kVideos.end(), name_in_folder(path)) != kVideos.end())
      ++folders[folder_of(path)];
  for (const auto& [folder, count] : folders) {
    const std::string videos = list_in(files, folder, kVideos, "videos");
    // videos.txt beside videos.mp4 is that clip's caption.
    if (has_media(files, without_extension(videos) + ".mp4")) continue;
    const std::string captions = list_in(files, folder, kCaptions, "captions");
    if (!captions.empty()) read_pair(files, videos, captions, out);
  }
  return out;
}

}  // namespace zoetrope
