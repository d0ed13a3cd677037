// A folder of small clips and pictures with captions for tests of ingest as a whole, and the bytes of what
// comes out.
#pragma once

#include <map>
#include <string>

namespace zoetrope::testing_support {

/// Files of a folder, not of those below it, by name.
std::map<std::string, std::string> folder_bytes(const std::string& folder);

/// Says which files of two folders differ; empty when none does.
std::string folder_difference(const std::string& left, const std::string& right);

/// Makes `count` clips of 1 to `max_frames` frames, every third a picture, captions beside them; and one file
/// that is refused, in their middle.
void make_media_folder(const std::string& folder, int count, int max_frames = 30);

/// Bytes of one picture in a PNG file; as many files of other names as one likes can hold them.
std::string tiny_png();

}  // namespace zoetrope::testing_support
