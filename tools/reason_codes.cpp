#include "tools/reason_codes.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "tools/text_format.h"

namespace zoetrope {
namespace {

/// `words` begin the text, or, when they begin with '*', are in it.
struct Rule {
  const char *words, *code, *kind;
};

constexpr Rule kRefusals[] = {
    {"an empty file", "empty_file", "an empty file"},
    {"a folder, not a file", "no_file", "a folder or a device, not a file"},
    {"not a regular file", "no_file", "a folder or a device, not a file"},
    {"a symbolic link", "broken_link", "a symbolic link that leads nowhere or in a circle"},
    {"can't be read", "unreadable", "can't be read (rights, or the disk)"},
    {"the content is text", "no_media", "the content is no video or picture"},
    {"the content is no video", "no_media", "the content is no video or picture"},
    {"the content looks like", "refused_format", "a format that is not read (playlists and the like)"},
    {"can't be opened as", "broken_header", "the file's header is broken"},
    {"no stream information", "broken_header", "the file's header is broken"},
    {"only an attached picture", "cover_art_only", "sound with cover art, no video"},
    {"no video stream", "no_video_stream", "no video stream"},
    {"no decoder for", "no_decoder", "no decoder in this build of libavcodec"},
    {"can't open the decoder", "no_decoder", "no decoder in this build of libavcodec"},
    {"pixel format", "pixel_format", "a pixel format that can't be converted"},
    {"colour matrix", "color_matrix", "a colour matrix that can't be converted"},
    {"no video frames in the file", "no_frames", "no video frames in the file"},
    {"*packets could be decoded", "undecodable", "nothing could be decoded"},
    {"no sound frame", "no_sound_frame", "no sound frame between decode errors"},
    {"nothing to show between", "empty_window", "start and end lie outside the video"},
    {"no caption", "no_caption", "no caption"},
    {"its caption file is empty", "no_caption", "no caption"},
    {"its caption file", "caption_unreadable", "the caption file can't be read"},
    {"the caption is", "caption_encoding", "the caption is not UTF-8"},
    {"two different captions", "two_captions", "two different captions"},
    {"another file has the same name", "name_clash", "another clip has the same name"},
    {"no such file below SOURCE", "missing_file", "a table names a file that is not there"},
    {"its name is not that of a video", "no_media_name", "a table names a file that is no video or picture"},
    {"*smaller than one patch", "too_small", "too small; --upscale enlarges"},
    {"*pixels can't cover", "too_small", "too small; --upscale enlarges"},
    {"the clip needs more than", "too_large", "more pixels than one clip may have"},
    {"damaged, and dropped", "damaged", "damaged, and dropped as asked for (--damaged drop)"},
    {"*(--max-packets)", "limit", "beyond a limit (--max-packets and the like)"},
    {"*had to be read more than", "limit", "beyond a limit (--max-packets and the like)"},
    {"needs more than", "limit", "beyond a limit (--max-packets and the like)"},
    {"pictures of pixel format", "pixel_format", "a pixel format that can't be converted"},
    {"an animated WebP", "too_large", "more pixels than one clip may have"},
    {"pictures of", "limit", "beyond a limit (--max-packets and the like)"},
    {"out of memory", "out_of_memory", "out of memory"},
};

constexpr Rule kCuts[] = {
    {"decode errors", "decode_errors", "decode errors: the longest sound run was kept"},
    {"the file ends early", "truncated", "the file ends early"},
    {"the picture's", "size_changes", "the picture's size or rotation changes within the file"},
    {"the pixel format", "format_changes", "the pixel format changes within the file"},
    {"its timestamps start over", "clock_restarts", "timestamps start over: the parts were joined"},
    {"the counts end before", "limit", "longer than a limit (--max-packets and the like)"},
    {"only the first", "max_seconds", "longer than --max-seconds"},
    {"* fps cut to ", "whole_rows", "cut to whole token rows in time"},
    {"cropped to whole patches", "cropped", "cropped to whole patches"},
};

bool fits(const Rule& rule, const std::string& text) {
  return rule.words[0] == '*' ? text.find(rule.words + 1) != std::string::npos : text.starts_with(rule.words);
}

template <size_t N>
const Rule* find_rule(const Rule (&rules)[N], const std::string& text) {
  const auto* found = std::find_if(rules, rules + N, [&](const Rule& rule) { return fits(rule, text); });
  return found == rules + N ? nullptr : found;
}

/// Words up to the first detail, without figures: "no keyframe before 3 s: ..." becomes "no keyframe before".
std::string first_words(const std::string& text) {
  std::string words =
      text.substr(0, std::min(text.find_first_of(":;('\","), text.find_first_of("0123456789")));
  while (!words.empty() && words.back() == ' ') words.pop_back();
  return words.empty() ? "other" : words;
}

Reason reason_of(const Rule* rule, const std::string& text) {
  if (rule != nullptr) return {rule->code, rule->kind, text};
  const std::string words = first_words(text);
  std::string code;
  for (const char c : words.substr(0, 40)) {
    if (std::isalnum(uint8_t(c)) != 0) code += char(std::tolower(uint8_t(c)));
    else if (!code.empty() && code.back() != '_') code += '_';
  }
  while (!code.empty() && code.back() == '_') code.pop_back();
  return {code.empty() ? "other" : code, words, text};
}

}  // namespace

std::vector<Reason> reasons_of(const ManifestEntry& entry) {
  if (entry.reason.empty()) return {};
  if (entry.undecided()) return {{"undecided", "not decided yet; the next run tries again", entry.reason}};
  if (entry.refused()) return {reason_of(find_rule(kRefusals, entry.reason), entry.reason)};
  // Cuts are joined by "; ", which some of them hold too: a new one begins where the table knows it.
  std::vector<Reason> reasons;
  for (size_t begin = 0; begin < entry.reason.size();) {
    const size_t end = std::min(entry.reason.find("; ", begin), entry.reason.size());
    const std::string text = entry.reason.substr(begin, end - begin);
    const Rule* rule = find_rule(kCuts, text);
    if (rule == nullptr && !reasons.empty()) reasons.back().text += "; " + text;
    else reasons.push_back(reason_of(rule, text));
    begin = end + 2;
  }
  return reasons;
}

std::string source_arithmetic(const ManifestEntry& entry) {
  const SourceFacts& facts = entry.facts;
  const double span = facts.last_seconds - facts.first_seconds;
  if (!entry.has_facts || facts.presented < 2 || !(span > 0)) return "";
  // By the timestamps, not by what the header says.
  const double fps = double(facts.presented - 1) / span;
  return format_text("%s frames at %.5g fps = %.2f s: ", with_commas(facts.presented).c_str(), fps,
                     double(facts.presented) / fps);
}

}  // namespace zoetrope
