// zoetrope heldout: loss on clips that training never saw, at fixed sigmas and noise, beside simple fitted
// predictions.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "core/files.h"
#include "core/rng.h"
#include "tools/commands.h"
#include "tools/heldout_baselines.h"
#include "tools/launch.h"
#include "tools/ranges.h"
#include "tools/run_weights.h"

namespace zoetrope {
namespace {

struct HeldoutFlags {
  std::string run, data, train_data, out;
  std::vector<double> sigmas{0.2, 0.3, 0.5, 0.7, 0.9};
  std::string device;
  bool json = false;
};

struct Row {
  double sigma = 0, model = 0, mean = 0, affine = 0, patch_linear = 0;
};

/// One whole held-out clip as a micro-batch; its draw is its index, so that its noise is fixed.
MicroBatch whole_sample(const Dataset& dataset, int64_t index) {
  const DatasetSample& sample = dataset.samples()[size_t(index)];
  MicroBatch batch;
  batch.segments.push_back(
      {0, index, 0, sample.num_tokens, sample.num_tokens, sample.grid, 0, sample.caption});
  batch.tokens = Tensor::empty({sample.num_tokens, dataset.features()}, DType::kU8);
  dataset.read_tokens(index, 0, sample.num_tokens, batch.tokens);
  return batch;
}

Plan one_sample_plan(int64_t tokens) {
  Plan plan;
  plan.waves.emplace_back().slots = {{{0, 0, tokens}}};
  return plan;
}

void add_baselines(const Baselines& baselines, const MicroBatch& batch, uint64_t seed, double sigma,
                   BaselineErrors& errors) {
  const int64_t features = batch.tokens.row_size();
  std::vector<float> x0(static_cast<size_t>(features)), noisy(static_cast<size_t>(features));
  for (int64_t t = 0; t < batch.tokens.rows(); ++t) {
    fill_normal({seed, Purpose::kHeldOut, batch.segments[0].draw, t}, noisy.data(), features);
    for (int64_t c = 0; c < features; ++c) {
      x0[size_t(c)] = float(batch.tokens.row<uint8_t>(t)[c]) / 127.5f - 1.0f;
      noisy[size_t(c)] = float(1 - sigma) * x0[size_t(c)] + float(sigma) * noisy[size_t(c)];
    }
    baselines.add(x0.data(), noisy.data(), errors);
  }
}

std::vector<Row> evaluate(const HeldoutFlags& flags, const Dataset& heldout, const Dataset& training,
                          OpenedRun& run) {
  const TokenStatistics statistics = token_statistics(training);
  const uint64_t seed = uint64_t(run.config.numerics.seed);
  std::vector<Row> rows;
  for (double sigma : flags.sigmas) {
    const Baselines baselines(statistics, sigma);
    BaselineErrors errors;
    double model_sum = 0;
    for (int64_t i = 0; i < int64_t(heldout.samples().size()); ++i) {
      const MicroBatch batch = whole_sample(heldout, i);
      run.rank->attention.begin_wave(one_sample_plan(batch.num_tokens()), 0);
      model_sum += run.rank->flow.loss_at(batch, sigma).sum;
      add_baselines(baselines, batch, seed, sigma, errors);
    }
    // The loss is on velocities: an x0 error e is a velocity error e / max(sigma, floor).
    const double floor = std::max(sigma, run.config.flow.sigma_floor),
                 scale = 1 / (double(errors.count) * floor * floor);
    rows.push_back({sigma, model_sum / double(errors.count), errors.mean * scale, errors.affine * scale,
                    errors.patch_linear * scale});
  }
  return rows;
}

nlohmann::ordered_json to_json(const std::vector<Row>& rows, const OpenedRun& run, const Dataset& heldout) {
  nlohmann::ordered_json json;
  json["checkpoint"] = run.checkpoint;
  json["weights"] = run.used_ema ? "ema" : "model";
  json["clips"] = heldout.samples().size();
  for (const Row& row : rows) {
    json["sigma"].push_back(row.sigma);
    json["model"].push_back(row.model);
    json["mean"].push_back(row.mean);
    json["affine"].push_back(row.affine);
    json["patch_linear"].push_back(row.patch_linear);
  }
  return json;
}

int run_heldout(const HeldoutFlags& flags, Comm& comm) {
  if (comm.size() > 1) throw UsageError("heldout runs on one rank; start it without mpirun or srun");
  const Dataset heldout(flags.data), training(flags.train_data);
  ZT_REQUIRE(heldout.patch() == training.patch(), "'", flags.data, "' and '", flags.train_data,
             "' were made with different patches");
  int64_t longest = 0;
  for (int64_t tokens : heldout.lengths()) longest = std::max(longest, tokens);
  OpenedRun run = open_weights(flags.run, comm, longest, 1, {flags.device});
  require_same_patch(run.config.model, heldout, flags.data);
  const std::vector<Row> rows = evaluate(flags, heldout, training, run);
  const std::string json =
      to_json(rows, run, heldout).dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  if (!flags.out.empty()) write_file_atomically(flags.out, json);
  if (flags.json) {
    std::fputs(json.c_str(), stdout);
    return 0;
  }
  std::printf("held-out velocity loss of %zu clips, %s weights of %s\n", heldout.samples().size(),
              run.used_ema ? "EMA" : "model", run.checkpoint.c_str());
  std::printf("%8s %10s %12s %10s %14s %22s\n", "sigma", "model", "mean token", "a x + b", "patch linear",
              "model / best of two");
  for (const Row& row : rows)
    std::printf("%8.2f %10.4f %12.4f %10.4f %14.4f %22.3f\n", row.sigma, row.model, row.mean, row.affine,
                row.patch_linear, row.model / std::min(row.mean, row.affine));
  if (!flags.out.empty()) std::printf("wrote %s\n", flags.out.c_str());
  return 0;
}

}  // namespace

Command heldout_command() {
  auto flags = std::make_shared<HeldoutFlags>();
  Command command;
  command.name = "heldout";
  command.help = "held-out loss at fixed sigmas, beside predictions fitted on the training clips";
  command.options.add_flag("run", flags->run, "run folder, or one checkpoint folder");
  command.options.add_flag("data", flags->data, "data set of held-out clips");
  command.options.add_flag("train-data", flags->train_data,
                           "data set that the simple predictions are fitted on");
  command.options.add_flag("sigmas", flags->sigmas, "noise levels");
  command.options.add_flag("device", flags->device, "cpu or cuda; empty: as the run was trained");
  command.options.add_flag("out", flags->out, "JSON file to write");
  command.options.add_flag("json", flags->json, "print JSON");
  command.run = [flags] {
    for (const auto& [name, value] :
         {std::pair{"run", &flags->run}, {"data", &flags->data}, {"train-data", &flags->train_data}})
      if (value->empty()) throw UsageError(join_message("missing --", name));
    if (flags->sigmas.empty())
      throw UsageError("--sigmas is empty, expected noise levels above 0, at most 1");
    for (double sigma : flags->sigmas) Ranges().number("sigmas", sigma, 1e-6, 1);
    if (!flags->out.empty()) check_writable(flags->out);
    return run_on_ranks(0, [flags](Comm& comm) { return run_heldout(*flags, comm); });
  };
  return command;
}

}  // namespace zoetrope
