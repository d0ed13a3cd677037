// Which presented frames of an indexed file its windows show, and whether going from one to the next by seeks
// saves decoding. Used by video/media/file_decoder.
#pragma once

#include <cstdint>
#include <vector>

#include "video/media/frame_index.h"
#include "video/media/window_sampler.h"

namespace zoetrope {

/// Whether an index can be worth its pass over the file: the container can be sought in, and a window starts
/// late or asks for less than every second frame.
bool may_skip_groups(const MediaFile& file, const std::vector<WindowSampler>& samplers,
                     const DecodeRules& rules);

/// Presented frames that the windows show, sorted. The first frame of the file is always among them, since it
/// decides the size of all. `every_frame`: also those between, for an observer. Starts a run in each sampler.
std::vector<int64_t> wanted_frames(const FrameIndex& index, std::vector<WindowSampler>& samplers,
                                   bool every_frame);

/// Whether at least one group of pictures lies between wanted frames. Units: delay in frames, of the decoder.
bool skips_groups(const FrameIndex& index, const std::vector<int64_t>& wanted, int delay);

}  // namespace zoetrope
