#include "tools/ingest_layout.h"

#include <cstdio>

#include "core/check.h"
#include "video/sources/explain.h"

namespace zoetrope {

IngestPlanOptions LayoutFlags::options() const {
  IngestPlanOptions options;
  options.missing = missing_caption_of(missing_caption);
  for (Layout each : kAllLayouts)
    if (layout == name_of(each)) options.layout = each;
  options.captions.split_lines = caption_lines == "split";
  options.each_alternative = alternatives == "each";
  options.picture_folders = picture_folders_of(picture_folders);
  options.picture_fps = picture_fps;
  return options;
}

int explain_ingest(const IngestRequest& request, bool json) {
  const IngestPlan plan = plan_of(request);
  const double fps = request.decode.fps;
  std::fputs((json ? explain_json(plan, fps) : explain_text(plan, fps)).c_str(), stdout);
  int64_t refused = 0, usable = 0;
  for (const PlannedSource& source : plan.sources)
    for (const PlannedClip& clip : source.clips) {
      refused += !clip.refused.empty() && !clip.skipped;
      usable += clip.refused.empty();
    }
  return usable == 0 ? 3 : refused > 0 ? 1 : 0;
}

std::string reading_text_of(const IngestResult& result) {
  std::string out;
  for (const std::string& note : result.notes) out += "note: " + note + "\n";
  return out + pairing_text(result.pairing);
}

}  // namespace zoetrope
