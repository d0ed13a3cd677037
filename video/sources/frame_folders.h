// Folders of numbered pictures that are the frames of one clip. Used by video/sources/ingest_plan.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "video/sources/source_files.h"

namespace zoetrope {

/// What a folder of numbered pictures is.
enum class PictureFolders { kAuto, kClip, kPictures };
/// From "auto", "clip", "pictures". Throws: UsageError.
PictureFolders picture_folders_of(const std::string& name);

/// Turns the pictures of each such folder into one clip. By themselves (kAuto) those folders are clips that
/// `named` holds, or that have a caption of their name; those are not whose pictures have captions of their
/// own. `fps`: rate of the frames, 0 when unknown. Returns remarks for the user: gaps in the numbers.
/// Throws: Error naming a folder that could be both.
std::vector<std::string> fold_frame_folders(FoundFiles& files, const std::set<std::string>& named,
                                            PictureFolders rule, double fps);

/// All pictures of a folder on disk as one clip, numbered or in the order of their names; `refused` set when
/// there are none, or of several kinds.
FoundFile frame_folder(const std::string& folder, const std::string& name, double fps);

}  // namespace zoetrope
