// Reading one caption file.
#include "core/check.h"
#include "video/sources/captions.h"
#include "video/sources/layouts.h"
#include "video/sources/metadata_table.h"

namespace zoetrope {

const char* name_of(Layout layout) {
  constexpr const char* kNames[] = {"sidecar", "split", "lists", "table"};
  return kNames[int(layout)];
}

CaptionText read_caption_file(const FoundFiles& files, const std::string& path, const CaptionRules& rules) {
  CaptionText out;
  std::string bytes;
  try {
    bytes = files.read(path);
  } catch (const Error& error) {
    out.problem = join_message("its caption file is ", error.what());
    if (!out.problem.starts_with("its caption file is not")) out.problem = "its caption file can't be read";
    return out;
  }
  try {
    const std::string text = text_from_bytes(bytes);
    if (extension_of(path) == ".json") {
      const auto captions = read_caption_json(text);
      out.is_caption = captions.has_value();
      if (captions) out.captions = *captions;
      return out;
    }
    for (const std::string& line : lines_of(text))
      if (std::string caption = caption_from_text(line); !caption.empty()) out.captions.push_back(caption);
    out.has_lines = out.captions.size() > 1;
    if (!rules.split_lines && out.has_lines) out.captions = {caption_from_text(text)};
  } catch (const Error& error) { out.problem = error.what(); }
  return out;
}

}  // namespace zoetrope
