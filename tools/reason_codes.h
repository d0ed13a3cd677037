// Why clips were refused or trimmed, as short codes for scripts and as kinds for people: a manifest's reasons
// are sentences with figures, which differ from clip to clip.
#pragma once

#include <string>
#include <vector>

#include "video/store/manifest.h"

namespace zoetrope {

/// One of the things that a manifest line says of a clip.
struct Reason {
  std::string code;  ///< "no_video_stream"
  std::string kind;  ///< what all reasons of this code have in common
  std::string text;  ///< as the manifest has it
};

/// The reasons of a line, in order; none for a clip that was kept whole. A text that is not in the table gets
/// a code made of its own first words.
std::vector<Reason> reasons_of(const ManifestEntry& entry);

/// "101 frames at 23.976 fps = 4.21 s: " for a clip whose source frames are known; else empty.
std::string source_arithmetic(const ManifestEntry& entry);

}  // namespace zoetrope
