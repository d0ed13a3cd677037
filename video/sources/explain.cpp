#include "video/sources/explain.h"

#include <nlohmann/json.hpp>

#include "core/check.h"
#include "video/store/manifest.h"

namespace zoetrope {
namespace {

using Json = nlohmann::ordered_json;

/// What part of the file a clip is.
std::string part_of(const PlannedClip& clip) {
  const Window& window = clip.window;
  if (!clip.has_window) return "whole";
  if (window.is_by_frames()) {
    const std::string keep = compare(window.keep, {1, 1}) == 0
                                 ? ""
                                 : join_message(" of those kept, ", window.keep.num, " of ", window.keep.den);
    return join_message("frames ", window.first_frame, " to ", window.first_frame + window.num_frames - 1,
                        keep);
  }
  const bool to_end = compare(window.end, Window{}.end) == 0;
  return join_message("from ", window.start.value(), " s to ",
                      to_end ? "the end" : join_message(window.end.value(), " s"));
}

/// Where its bytes lie, when that isn't a file of its name.
std::string place_of(const MediaLocation& location) {
  if (location.is_pictures())
    return join_message(location.pictures.size(), " pictures, ",
                        location.picture_fps > 0 ? join_message(location.picture_fps, " per second")
                                                 : "their rate is unknown");
  if (location.is_part())
    return join_message("bytes ", location.offset, " to ", location.offset + location.size, " of an archive");
  return "file";
}

std::string rules_of(const PlannedSource& source) {
  std::string out;
  if (source.rules.area > 0) out += join_message(", area ", source.rules.area);
  if (source.rules.upscale && *source.rules.upscale) out += ", enlarged to it";
  if (source.rules.most_frames > 0) out += join_message(", at most ", source.rules.most_frames, " frames");
  return out;
}

std::string caption_of(const PlannedClip& clip) {
  if (!clip.from.empty()) return clip.layout + " " + printable_name(clip.from);
  return clip.caption.empty() ? "none" : "the file's name";
}

}  // namespace

std::string explain_text(const IngestPlan& plan, double fps) {
  std::string out;
  for (const PlannedSource& source : plan.sources)
    for (const PlannedClip& clip : source.clips) {
      out += clip.name + "\n";
      if (!clip.refused.empty()) {
        out += join_message("  ", clip.skipped ? "skipped: " : "refused: ", clip.refused, "\n");
        continue;
      }
      out += join_message("  read as  ", place_of(source.location), ", ", part_of(clip), ", at ", fps,
                          " frames per second", rules_of(source),
                          clip.repeats > 1 ? join_message(", counts ", clip.repeats, " times") : "", "\n");
      out += join_message("  caption  ", caption_of(clip), ": '", shortened(clip.caption, 200), "'\n");
    }
  for (const std::string& note : plan.notes) out += "note: " + note + "\n";
  for (const std::string& warning : plan.warnings) out += "warning: " + warning + "\n";
  if (plan.ignored_files > 0) out += join_message(plan.ignored_files, " other files are not read\n");
  return out + pairing_text(plan.pairing);
}

std::string explain_json(const IngestPlan& plan, double fps) {
  Json clips = Json::array();
  for (const PlannedSource& source : plan.sources)
    for (const PlannedClip& clip : source.clips) {
      Json line = {
          {"name", clip.name}, {"place", place_of(source.location)}, {"part", part_of(clip)}, {"fps", fps}};
      if (!clip.refused.empty()) line[clip.skipped ? "skipped" : "refused"] = clip.refused;
      if (clip.window.is_by_frames())
        line["frames"] = {clip.window.first_frame, clip.window.first_frame + clip.window.num_frames};
      line["layout"] = clip.layout;
      line["caption_from"] = printable_name(clip.from);
      line["caption"] = clip.caption;
      line["repeats"] = clip.repeats;
      if (source.rules.area > 0) line["area"] = source.rules.area;
      if (source.rules.upscale) line["upscale"] = *source.rules.upscale;
      if (source.rules.most_frames > 0) line["most_frames"] = source.rules.most_frames;
      clips.push_back(std::move(line));
    }
  return Json{{"clips", clips},
              {"notes", plan.notes},
              {"warnings", plan.warnings},
              {"ignored_files", plan.ignored_files},
              {"pairing", Json::parse(pairing_json(plan.pairing))}}
             .dump(1, ' ', false, Json::error_handler_t::replace) +
         "\n";
}

}  // namespace zoetrope
