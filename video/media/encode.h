// Clips to files that people look at: MP4 through libav, PNG frames and contact sheets.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "video/clip.h"

namespace zoetrope {

/// Writes an MP4 (libx264, or else mpeg4; returns the encoder's name), atomically. Odd sizes are padded by
/// repeating the last row or column for 4:2:0.
/// Throws: Error naming the file.
std::string write_mp4(const std::string& path, const Clip& clip);
/// The same for frames that are made one by one; of `clip` only size, number of frames and rate are read.
std::string write_mp4(const std::string& path, const Clip& clip,
                      const std::function<const uint8_t*(int64_t index)>& frame);
void write_png(const std::string& path, const uint8_t* rgb, int64_t height, int64_t width);
/// A grid of up to `max_frames` evenly spaced frames with thin borders.
void write_contact_sheet(const std::string& path, const Clip& clip, int64_t max_frames = 16);

}  // namespace zoetrope
