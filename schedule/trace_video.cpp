// Lengths of image and video mixes. Where a source gives shapes, tokens follow from them; what a source does
// not give is said beside the trace.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "schedule/trace_parts.h"

namespace zoetrope {
namespace {

/// A resolution and how likely it is.
struct Picture {
  int64_t height, width;
  double weight;
};

// --- T1: a joint step of images and clips, its composition exact ---

/// How many samples of a length a step of T1 holds, without text tokens.
struct StepPart {
  int64_t count, tokens;
};
// Images of 256, 512, 1024 and 2048 pixels; four key frames of 256 and 512; clips of 85 frames.
constexpr StepPart kJointStep[] = {{32, 256},  {10, 1024}, {10, 4096}, {4, 16384},
                                   {10, 1024}, {3, 4096},  {16, 6400}, {4, 25600}};
constexpr int64_t kJointSamples = 32 + 10 + 10 + 4 + 10 + 3 + 16 + 4;
constexpr int64_t kMostTextTokens = 392;

/// Which of a step's samples comes at `position`: the step is shuffled by a key of its own.
int64_t shuffled(uint64_t seed, int64_t step, int64_t position) {
  TraceDraws draws(seed, -1 - step);  // numbers of samples are not negative
  std::array<int64_t, kJointSamples> order;
  std::iota(order.begin(), order.end(), int64_t(0));
  for (size_t i = order.size() - 1; i > 0; --i)
    std::swap(order[i], order[size_t(draws.integer(0, int64_t(i)))]);
  return order[size_t(position)];
}

int64_t joint_step_tokens(uint64_t seed, int64_t sample) {
  int64_t place = shuffled(seed, sample / kJointSamples, sample % kJointSamples);
  const StepPart* part = kJointStep;
  for (; place >= part->count; ++part) place -= part->count;
  return part->tokens + TraceDraws(seed, sample).integer(0, kMostTextTokens);
}

// --- T2: images and clips of three stages ---

int64_t staged_tokens(uint64_t seed, int64_t sample) {
  static const std::vector<TraceCell> images{{256, 1}, {1024, 1}, {1560, 1}, {3600, 1}};
  static const Picture stages[] = {{192, 336, 0.2}, {480, 832, 0.5}, {720, 1280, 0.3}};
  TraceDraws draws(seed, sample);
  if (draws.uniform() < 0.4) return pick_cell(images, draws.uniform());
  std::vector<TraceCell> clips;
  const int64_t frames = 1 + 4 * draws.integer(4, 20);
  for (const Picture& stage : stages)
    clips.push_back({video_tokens(frames, stage.height, stage.width), stage.weight});
  return pick_cell(clips, draws.uniform());
}

// --- T3: durations like those of a large corpus of scene cuts ---

int64_t duration_tokens(uint64_t seed, int64_t sample) {
  static const Picture sizes[] = {{240, 416, 0.4}, {480, 832, 0.4}, {720, 1280, 0.2}};
  constexpr double kFramesPerSecond = 16;
  TraceDraws draws(seed, sample);
  const double seconds = std::clamp(draw_lognormal(draws, 8.5, 0.8), 1.0, 16.0);
  const int64_t frames = 1 + int64_t(seconds * kFramesPerSecond);
  std::vector<TraceCell> clips;
  for (const Picture& size : sizes)
    clips.push_back({video_tokens(frames, size.height, size.width), size.weight});
  return pick_cell(clips, draws.uniform());
}

// --- T9: five resolutions x four lengths, Zipf ---

const std::vector<TraceCell>& zipf_cells() {
  static const std::vector<TraceCell> cells{{2160, .296},   {4320, .187},   {5850, .125},   {8640, .088},
                                            {11700, .064},  {13200, .048},  {17280, .037},  {23400, .029},
                                            {23850, .023},  {26400, .019},  {46800, .016},  {47700, .013},
                                            {52800, .011},  {54000, .009},  {95400, .008},  {105600, .007},
                                            {108000, .006}, {190800, .005}, {216000, .005}, {432000, .004}};
  return cells;
}

// --- T10: buckets of square videos, 1, 5, ... 129 frames ---

/// Batch size of clips up to so many frames.
struct Batch {
  int64_t frames;
  double size;
};

/// The source gives each bucket's batch size and keeps whatever fits, not how many clips there are. Here
/// every bucket is as likely to be the next batch as any other, so a sample's weight is its bucket's batch
/// size.
void add_buckets(std::vector<TraceCell>& cells, int64_t pixels, const std::vector<Batch>& batches) {
  int64_t frames = 1;
  for (const Batch& batch : batches)
    for (; frames <= batch.frames; frames += 4)
      cells.push_back({video_tokens(frames, pixels, pixels), batch.size});
}

std::vector<TraceCell> first_stage_cells() {
  std::vector<TraceCell> cells;
  add_buckets(cells, 256, {{1, 45}, {33, 12}, {65, 6}, {97, 4}, {129, 3}});
  cells.push_back({video_tokens(1, 768, 768), 0.5 * 13});  // half of these images are kept
  cells.push_back({video_tokens(1, 1024, 1024), 0.5 * 7});
  return cells;
}

std::vector<TraceCell> second_stage_cells() {
  std::vector<TraceCell> cells;
  add_buckets(cells, 256, {{1, 130}, {33, 14}, {65, 10}, {97, 7}, {129, 6}});
  add_buckets(cells, 768, {{1, 38}, {33, 6}, {65, 4}, {97, 3}, {129, 2}});
  return cells;
}

// --- video-mix ---

std::vector<TraceCell> video_mix_cells() {
  static const Picture sizes[] = {{256, 448, .45}, {480, 832, .40}, {720, 1280, .15}};
  static const std::pair<int64_t, double> lengths[] = {{1, .35},  {17, .20}, {33, .15},
                                                       {49, .12}, {81, .13}, {121, .05}};
  std::vector<TraceCell> cells;
  for (const Picture& size : sizes)
    for (const auto& [frames, weight] : lengths)
      cells.push_back({video_tokens(frames, size.height, size.width), size.weight * weight});
  return cells;
}

Trace trace_of_cells(const char* name, const char* what, const char* source, std::vector<TraceCell> cells) {
  return {name, what, source, [cells = std::move(cells)](uint64_t seed, int64_t sample) {
            return pick_cell(cells, TraceDraws(seed, sample).uniform());
          }};
}

}  // namespace

int64_t video_tokens(int64_t frames, int64_t height, int64_t width) {
  return ((frames - 1) / 4 + 1) * (height / 16) * (width / 16);
}

std::vector<Trace> video_traces() {
  return {
      {"t1", "joint image and video step, exactly 89 samples a step, shuffled",
       "KnapFormer, arXiv 2508.06001", joint_step_tokens},
      {"t2", "40 % images, 60 % clips of 192p, 480p and 720p, 17 to 81 frames", "shapes of Wan 2.1's stages",
       staged_tokens},
      {"t3", "clips of 1 to 16 s, lognormal of mean 8.5 s, 240p to 720p at 16 fps", "mean of Panda-70M",
       duration_tokens},
      trace_of_cells("t9", "five resolutions x 51 to 408 frames, Zipf", "VideoSys Data-Centric Parallel",
                     zipf_cells()),
      trace_of_cells("t10", "256 and 768 px buckets of 1 to 129 frames, all as likely",
                     "Open-Sora 2.0, stage 2", second_stage_cells()),
      trace_of_cells("t10-stage1", "256 px buckets of 1 to 129 frames, 768 and 1024 px images",
                     "Open-Sora 2.0, stage 1", first_stage_cells()),
      trace_of_cells("video-mix", "256x448, 480x832, 720x1280 of 1 to 121 frames",
                     "the mix of tests/data/traces, not rounded", video_mix_cells()),
  };
}

}  // namespace zoetrope
