#include "video/sources/pairing_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/check.h"
#include "video/store/manifest.h"

namespace zoetrope {
std::string shortened(const std::string& text, size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (uint8_t(text[most]) & 0xc0) == 0x80) --most;
  return text.substr(0, most) + "...";
}

std::string name_list(const std::vector<std::string>& names) {
  constexpr size_t kShown = 10;
  std::string out;
  for (size_t i = 0; i < std::min(kShown, names.size()); ++i)
    out += (i == 0 ? "" : ", ") + printable_name(names[i]);
  return names.size() > kShown ? join_message(out, " and ", names.size() - kShown, " more") : out;
}

void PairingReport::add(const PairingReport& other) {
  clips += other.clips;
  with_caption += other.with_caption;
  without_caption += other.without_caption;
  empty += other.empty;
  unreadable += other.unreadable;
  by_case += other.by_case;
  with_alternatives += other.with_alternatives;
  several_lines += other.several_lines;
  for (const auto& [layout, count] : other.layouts) layouts[layout] += count;
  unmatched.insert(unmatched.end(), other.unmatched.begin(), other.unmatched.end());
  shared.insert(shared.end(), other.shared.begin(), other.shared.end());
  repeated_captions += other.repeated_captions;
  clips_with_repeated_caption += other.clips_with_repeated_caption;
  if (other.most_repeated_clips > most_repeated_clips) {
    most_repeated = other.most_repeated;
    most_repeated_clips = other.most_repeated_clips;
  }
}

std::string pairing_text(const PairingReport& r) {
  std::string how;
  for (const auto& [layout, count] : r.layouts)
    how += join_message(how.empty() ? "" : ", ", count, " by ", layout);
  std::string out = join_message("captions: ", r.with_caption, " of ", r.clips, " clips have one",
                                 how.empty() ? "" : " (" + how + ")", "\n");
  const auto line = [&](int64_t count, auto&&... parts) {
    if (count > 0) out += join_message("  ", parts..., "\n");
  };
  line(r.without_caption, r.without_caption, " without any caption");
  line(r.empty, r.empty, " with an empty caption");
  line(r.unreadable, r.unreadable, " with a caption that can't be used");
  line(int64_t(r.unmatched.size()), r.unmatched.size(), " caption files belong to no clip");
  line(int64_t(r.shared.size()), r.shared.size(), " caption files belong to several media of the same stem");
  line(r.by_case, r.by_case, " paired though upper and lower case differ");
  line(r.with_alternatives, r.with_alternatives, " with several captions");
  line(r.several_lines, r.several_lines, " caption files of several lines, each read as one caption");
  line(r.repeated_captions, r.clips_with_repeated_caption, " share ", r.repeated_captions,
       " captions with other clips; ", r.most_repeated_clips, " have '", shortened(r.most_repeated, 60), "'");
  return out;
}

std::string pairing_json(const PairingReport& r) {
  const auto printable = [](const std::vector<std::string>& names) {
    std::vector<std::string> out;
    for (const std::string& name : names) out.push_back(printable_name(name));
    return out;
  };
  return nlohmann::ordered_json{
             {"clips", r.clips},
             {"with_caption", r.with_caption},
             {"without_caption", r.without_caption},
             {"empty_caption", r.empty},
             {"unusable_caption", r.unreadable},
             {"read_as", r.layouts},
             {"paired_by_case", r.by_case},
             {"with_alternatives", r.with_alternatives},
             {"files_of_several_lines", r.several_lines},
             {"repeated_captions", r.repeated_captions},
             {"clips_with_repeated_caption", r.clips_with_repeated_caption},
             {"most_repeated",
              {{"clips", r.most_repeated_clips}, {"caption", shortened(r.most_repeated, 200)}}},
             {"unmatched_caption_files", printable(r.unmatched)},
             {"shared_caption_files", printable(r.shared)}}
             .dump(1) +
         "\n";
}

}  // namespace zoetrope
