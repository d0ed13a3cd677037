// What lies below SOURCE: media files, members of archives, caption files, tables, in a sorted order that
// doesn't depend on the file system. First step of ingest.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "video/media/media_location.h"

namespace zoetrope {

/// One file (or what pretends to be one), by its path below SOURCE as raw bytes; "data.tar/a.mp4" for a
/// member of an archive.
struct FoundFile {
  std::string path;
  std::string refused;  ///< reason why it can't be what its name says, e.g. a folder named clip.mp4
  MediaLocation location;
};

/// Everything below SOURCE, each list sorted by path.
struct FoundFiles {
  std::string root;
  std::vector<FoundFile> media;
  std::vector<std::string> captions;             ///< *.txt, *.caption, *.json
  std::vector<std::string> tables;               ///< *.jsonl, *.csv, *.json
  std::vector<std::string> archives;             ///< *.tar
  std::vector<std::string> ignored;              ///< anything else
  std::map<std::string, MediaLocation> members;  ///< captions and tables in archives

  /// Bytes of a caption or a table. Throws: Error with the reason, without a path.
  std::string read(const std::string& path) const;
};

/// Walks a folder, following symbolic links except those that lead back to a folder they are in, and looks
/// into plain tar archives. Hidden files and folders (".name") are left out. Throws: Error when it or a
/// folder below it can't be read.
FoundFiles find_files(const std::string& root);
/// The same for one archive.
FoundFiles find_members(const std::string& archive);

/// Whether a name ends like a video or picture, and like a picture.
bool has_media_name(const std::string& path);
/// Whether a name ends like a picture.
bool has_picture_name(const std::string& path);
/// Path without its last extension ("a.b.mp4": "a.b"), and the extension in lower case with its dot.
std::string without_extension(const std::string& path);
std::string extension_of(const std::string& path);
/// The folder part ("a/b": "a", "b": ""), and the rest.
std::string folder_of(const std::string& path);
std::string name_in_folder(const std::string& path);
/// "folder/name", or the name alone.
std::string join_path(const std::string& folder, const std::string& name);

}  // namespace zoetrope
