// zoetrope sample: prompt -> noise -> Euler steps -> tokens -> clip -> MP4 and contact sheet. Several ranks
// share one sample as a ring.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "core/files.h"
#include "core/log.h"
#include "model/checkpoint.h"
#include "model/sample.h"
#include "model/text.h"
#include "tools/commands.h"
#include "tools/launch.h"
#include "tools/ranges.h"
#include "tools/run_weights.h"
#include "video/media/encode.h"
#include "video/tokens.h"

namespace zoetrope {
namespace {

struct SampleFlags {
  std::string run, out, size = "96x64";
  SampleRequest request;
  int64_t frames = 17, seed = 0, ranks = 0;
  double fps = 8;
  WhereToRun where;
};

constexpr int64_t kLargestSide = 1 << 16, kMostFrames = 1 << 20;

void check_ranges(const SampleFlags& flags) {
  const Ranges ranges;
  ranges.between("frames", flags.frames, 1, kMostFrames);
  ranges.number("fps", flags.fps, 0.001, 1000);  // as of ingest
  ranges.at_least("sampling-steps", flags.request.steps, 1);
  ranges.finite("guidance", flags.request.guidance);
  ranges.positive("shift", flags.request.shift);
  ranges.not_negative("transfer-timeout", flags.where.transfer_timeout);
}

/// "WxH" in pixels. Throws: UsageError.
std::array<int64_t, 2> parse_size(const std::string& text, const Patch& patch) {
  long long width = 0, height = 0;
  char rest = 0;
  if (std::sscanf(text.c_str(), "%lldx%lld%c", &width, &height, &rest) != 2 || width < 1 || height < 1)
    throw UsageError("--size '" + text + "': expected WIDTHxHEIGHT in pixels, like 96x64");
  if (width > kLargestSide || height > kLargestSide)
    throw UsageError(join_message("--size ", text, ": expected at most ", kLargestSide, " pixels a side"));
  if (width % patch.w || height % patch.h)
    throw UsageError(
        join_message("--size ", text, ": width must be a multiple of ", patch.w, " and height of ", patch.h));
  return {height, width};
}

/// This rank's even share of one sample, as a micro-batch without payload.
MicroBatch share_of(const Plan& plan, int rank, const std::array<int64_t, 3>& grid,
                    const std::string& caption) {
  MicroBatch batch;
  for (const Shard& shard : plan.waves[0].slots[size_t(rank)])
    batch.segments.push_back({0, 0, shard.begin, shard.end, grid[0] * grid[1] * grid[2], grid, 0, caption});
  return batch;
}

Plan split_evenly(int64_t tokens, int ranks) {
  Plan plan;
  plan.waves.emplace_back().slots.resize(size_t(ranks));
  for (int r = 0; r < ranks; ++r) {
    const int64_t begin = tokens * r / ranks, end = tokens * (r + 1) / ranks;
    if (begin < end) plan.waves[0].slots[size_t(r)].push_back({0, begin, end});
  }
  if (ranks > 1 && tokens > 1) plan.waves[0].rings.push_back({0, Exchange::kRing});
  return plan;
}

/// Tokens of all ranks as pixels, in token order (every rank gets them).
Tokens gather_pixels(Comm& comm, const Tensor& mine, const Plan& plan, const std::array<int64_t, 3>& grid) {
  const int64_t features = mine.row_size();
  int64_t largest = 0;
  for (const auto& slot : plan.waves[0].slots) largest = std::max(largest, tokens_of(slot));
  Tensor padded = Tensor::zeros({std::max<int64_t>(1, largest), features}, DType::kU8);
  for (int64_t t = 0; t < mine.rows(); ++t)
    for (int64_t c = 0; c < features; ++c) {
      const float level = (mine.row<float>(t)[c] + 1.0f) * 127.5f;
      padded.row<uint8_t>(t)[c] = uint8_t(std::lround(std::clamp(level, 0.0f, 255.0f)));
    }
  const std::vector<std::byte> all = comm.all_gather(padded.raw(), padded.bytes());
  Tokens tokens{grid, Tensor::empty({grid[0] * grid[1] * grid[2], features}, DType::kU8)};
  for (int r = 0; r < comm.size(); ++r)
    for (const Shard& shard : plan.waves[0].slots[size_t(r)])
      std::memcpy(tokens.tokens.row<uint8_t>(shard.begin), all.data() + int64_t(r) * padded.bytes(),
                  size_t(shard.num_tokens() * features));
  return tokens;
}

std::string sheet_beside(const std::string& out) {
  return std::filesystem::path(out).replace_extension(".png").string();
}

/// What would be found out only after the sampling. Throws: UsageError, Error naming the file.
void check_outputs(const std::string& out) {
  const std::string extension = std::filesystem::path(out).extension().string();
  if (extension != ".mp4")
    throw UsageError(join_message("--out '", out, "': found the extension '", extension,
                                  "', expected a name that ends in .mp4"));
  check_writable(out);
  check_writable(sheet_beside(out));
}

void write_outputs(const SampleFlags& flags, const OpenedRun& run, Clip clip) {
  clip.name = flags.request.prompt;
  const std::string encoder = write_mp4(flags.out, clip);
  const std::string sheet = sheet_beside(flags.out);
  write_contact_sheet(sheet, clip);
  std::printf("wrote %s (%lld frames, %lldx%lld, %.3g fps, %s) and %s, with %s of %s\n", flags.out.c_str(),
              static_cast<long long>(clip.num_frames), static_cast<long long>(clip.width),
              static_cast<long long>(clip.height), clip.fps, encoder.c_str(), sheet.c_str(),
              run.used_ema ? "the EMA weights" : "the weights", run.checkpoint.c_str());
}

int sample(const SampleFlags& flags, Comm& comm) {
  const std::string checkpoint = newest_checkpoint(flags.run);
  const TrainConfig saved =
      config_of(run_state_from_json(read_checkpoint_state(checkpoint).state_json, checkpoint), checkpoint);
  const Patch patch{saved.model.patch[0], saved.model.patch[1], saved.model.patch[2]};
  const auto [height, width] = parse_size(flags.size, patch);
  const int64_t frames = whole_frames(flags.frames, patch);
  if (frames != flags.frames)
    throw UsageError(join_message("--frames ", flags.frames, ": clips have 1 + ", patch.t, " n frames; use ",
                                  frames, " or ", frames + patch.t));
  const std::array<int64_t, 3> grid = grid_of(frames, height, width, patch);
  const int64_t tokens = grid[0] * grid[1] * grid[2];

  OpenedRun run = open_weights(flags.run, comm, tokens, 1, flags.where);
  if (comm.rank() == 0 && count_words(flags.request.prompt) > run.config.model.text_rows)
    log_warning(join_message("the prompt has ", count_words(flags.request.prompt),
                             " words, the model reads the first ", run.config.model.text_rows));
  const Plan plan = split_evenly(tokens, comm.size());
  run.rank->attention.begin_wave(plan, 0);
  const MicroBatch batch = share_of(plan, comm.rank(), grid, flags.request.prompt);
  const Tensor mine = sample_tokens(run.rank->flow, flags.request, batch, run.config.model);
  const Tokens pixels = gather_pixels(comm, mine, plan, grid);
  if (comm.rank() == 0) write_outputs(flags, run, untokenize(pixels, patch, flags.fps));
  comm.barrier();
  return 0;
}

}  // namespace

Command sample_command(const RunRanks& run_ranks) {
  auto flags = std::make_shared<SampleFlags>();
  Command command;
  command.name = "sample";
  command.help = "sample a clip from a run's newest checkpoint (its EMA weights when it has them)";
  command.options.add_flag("run", flags->run, "run folder, or one checkpoint folder");
  command.options.add_flag("prompt", flags->request.prompt, "what to show");
  command.options.add_flag("negative-prompt", flags->request.negative_prompt,
                           "the unconditional branch of guidance");
  command.options.add_flag("out", flags->out, "MP4 to write; the contact sheet goes beside it as PNG");
  command.options.add_flag("frames", flags->frames, "frames, 1 + temporal patch x n");
  command.options.add_flag("size", flags->size, "WIDTHxHEIGHT in pixels");
  command.options.add_flag("fps", flags->fps, "frames per second of the file");
  command.options.add_flag("sampling-steps", flags->request.steps, "Euler steps");
  command.options.add_flag("guidance", flags->request.guidance, "classifier-free guidance; 1 turns it off");
  command.options.add_flag("shift", flags->request.shift, "timestep shift of the sampling grid");
  command.options.add_flag("seed", flags->seed, "of the noise");
  command.options.add_flag("device", flags->where.device, "cpu or cuda; empty: as the run was trained");
  command.options.add_flag("transfer-timeout", flags->where.transfer_timeout,
                           "seconds after which a transfer between GPUs ends the run; 0: as it was trained");
  command.options.add_flag("ranks", flags->ranks,
                           "ranks that share the sample; 0: one, or what mpirun or srun gives");
  command.run = [flags, run_ranks] {
    if (flags->run.empty()) throw UsageError("no run: give --run RUN, a folder of `zoetrope train`");
    if (flags->out.empty()) throw UsageError("no output: give --out FILE.mp4");
    check_ranges(*flags);
    check_outputs(flags->out);
    flags->request.seed = uint64_t(flags->seed);
    return run_ranks(
        flags->ranks, [flags](Comm& comm) { return sample(*flags, comm); }, false);
  };
  return command;
}

}  // namespace zoetrope
