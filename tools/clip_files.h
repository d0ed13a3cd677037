// Clips of a data set as files to look at and to check: a PNG per frame with its times, MP4, contact sheets.
// All of it is made from the tokens that training reads. Used by `zoetrope inspect`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/sample_frames.h"
#include "video/media/small_picture.h"
#include "video/store/manifest.h"

namespace zoetrope {

/// Where a clip's files go below a folder: its name; a part of it that is too long for a file system is cut
/// and gets a hash. Throws: Error for names that lead out of the folder.
std::string clip_place(const std::string& name);

/// Writes FOLDER/NAME/000000.png, ... and FOLDER/NAME/frames.json for each of the samples, and
/// FOLDER/frames.json, which lists them. `entries`: the data set's manifest.
void export_frames(const Dataset& dataset, const std::vector<ManifestEntry>& entries,
                   const std::vector<int64_t>& samples, const std::string& folder);

/// Writes a clip as an MP4 and a contact sheet beside it, "x.mp4" and "x.png"; returns the encoder's name.
std::string write_playable(const Dataset& dataset, int64_t sample, const std::string& mp4_path);

/// First, middle and last frame of a clip, made smaller to fit boxes of this size.
std::vector<Picture> first_middle_last(const Dataset& dataset, int64_t sample, int64_t box_height,
                                       int64_t box_width);

/// Pictures in rows of `columns`, each in a cell as large as the largest.
Picture picture_grid(const std::vector<Picture>& pictures, int64_t columns);

/// Writes one picture with a strip of each sample, three strips a row; one sample: a grid of its frames.
void write_sheet(const Dataset& dataset, const std::vector<int64_t>& samples, const std::string& path);

}  // namespace zoetrope
