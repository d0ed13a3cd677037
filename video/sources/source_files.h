// What lies below SOURCE: media files, caption files, metadata tables, in a sorted order that doesn't depend
// on the file system. First step of ingest.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace zoetrope {

/// One file (or what pretends to be one), by its path below SOURCE as raw bytes.
struct FoundFile {
  std::string path;
  std::string refused;  ///< reason why it can't be what its name says, e.g. a folder named clip.mp4
};

/// Everything below SOURCE, each list sorted by path.
struct FoundFiles {
  std::vector<FoundFile> media;
  std::vector<std::string> captions;  ///< *.txt
  std::vector<std::string> tables;    ///< metadata.jsonl, metadata.csv
  std::vector<std::string> ignored;   ///< anything else
};

/// Walks SOURCE, following symbolic links except those that lead back to a folder they are in. Hidden files
/// and folders (".name") are left out. Throws: Error when SOURCE or a folder below it can't be read.
FoundFiles find_files(const std::string& source);

/// Whether a name ends like a video or picture.
bool has_media_name(const std::string& path);
/// Path without its last extension ("a.b.mp4": "a.b"), and the extension in lower case with its dot.
std::string without_extension(const std::string& path);
std::string extension_of(const std::string& path);

}  // namespace zoetrope
