#include "tools/run_weights.h"

#include <filesystem>

#include "model/checkpoint.h"
#include "tools/rank_device.h"

namespace zoetrope {

std::string newest_checkpoint(const std::string& run) {
  namespace fs = std::filesystem;
  if (fs::exists(fs::path(run) / "DONE")) return run;
  ZT_REQUIRE(fs::is_directory(run), "'", run,
             "' is no run folder: expected what `zoetrope train --run` wrote");
  const std::vector<std::string> all = list_checkpoints(run);
  ZT_REQUIRE(!all.empty(), "'", run,
             "' holds no complete checkpoint; train first, or name a checkpoint folder");
  return all.back();
}

TrainConfig config_of(const RunState& state, const std::string& checkpoint) {
  TrainConfig config;
  OptionSet set;
  config.add_to(set);
  load_toml_text(set, state.config_toml, checkpoint + " (saved config)");
  return config;
}

OpenedRun open_weights(const std::string& run, Comm& host, int64_t longest_sample, int64_t num_samples,
                       const WhereToRun& where) {
  OpenedRun opened;
  opened.checkpoint = newest_checkpoint(run);
  opened.state = run_state_from_json(read_checkpoint_state(opened.checkpoint).state_json, opened.checkpoint);
  opened.config = config_of(opened.state, opened.checkpoint);
  if (!where.device.empty()) opened.config.numerics.device = where.device;
  if (where.transfer_timeout > 0) opened.config.parallel.transfer_timeout = where.transfer_timeout;
  opened.transport = start_device(opened.config, host);
  Comm& comm = *opened.transport;
  const int threads = threads_per_rank({1, 0}, comm.size());
  const Workload workload{longest_sample, longest_sample * num_samples, num_samples, 0};
  TrainConfig limits;  // the training's own flag is none of it
  limits.numerics.device = opened.config.numerics.device;
  opened.rank =
      std::make_unique<Rank>(opened.config, comm, threads, workload, memory_limit(limits, {}, comm));
  load_weights(opened.checkpoint, opened.rank->parameters, true, &opened.used_ema);
  opened.rank->parameters.prepare();
  return opened;
}

}  // namespace zoetrope
