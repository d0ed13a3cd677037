#include "tools/train_config.h"

#include "core/check.h"
#include "schedule/planner.h"
#include "tools/ranges.h"

namespace zoetrope {
namespace {

constexpr int64_t kLargestSize = 1 << 20;  // of a width or a count of rows: far beyond any model
constexpr int64_t kMostLayers = 10000, kMostBatch = 1 << 16, kMostThreads = 1024;

void check_sizes(const ModelConfig& model) {
  const Ranges table("model");
  table.between("num-layers", model.num_layers, 1, kMostLayers);
  for (const auto& [name, value] : {std::pair{"width", model.width},
                                    {"ffn", model.ffn},
                                    {"frequency-width", model.frequency_width},
                                    {"text-width", model.text_width},
                                    {"text-rows", model.text_rows},
                                    {"in-channels", model.in_channels},
                                    {"out-channels", model.out_channels}})
    table.between(name, value, 1, kLargestSize);
  for (int64_t extent : model.patch) table.between("patch", extent, 1, 256);
}

void check_flow(const FlowConfig& flow) {
  const Ranges table("flow");
  table.finite("logit-mean", flow.logit_mean);
  table.positive("logit-std", flow.logit_std);
  table.positive("shift", flow.shift);
  table.number("caption-dropout", flow.caption_dropout, 0, 1);
  table.positive("sigma-floor", flow.sigma_floor);
}

void check_optimisation(const OptimizerConfig& optimisation) {
  const Ranges table("optimisation");
  table.at_least("schedule-steps", optimisation.steps, 1);
  table.at_least("warmup-steps", optimisation.warmup_steps, 0);
  table.not_negative("learning-rate", optimisation.learning_rate);
  table.not_negative("final-learning-rate", optimisation.final_learning_rate);
  constexpr double kBelowOne = 1 - 0x1p-53;
  table.number("beta1", optimisation.beta1, 0, kBelowOne);
  table.number("beta2", optimisation.beta2, 0, kBelowOne);
  table.positive("adam-epsilon", optimisation.epsilon);
  table.not_negative("weight-decay", optimisation.weight_decay);
  table.not_negative("clip", optimisation.clip);
  table.number("ema-decay", optimisation.ema_decay, 0, kBelowOne);
}

}  // namespace

OpsSettings settings_of(const NumericsOptions& numerics) {
  if (numerics.device != "cuda") return {};
  const bool settled = numerics.attention_kernel != "auto";
  return {settled ? attention_source_from(numerics.attention_kernel) : AttentionSource::kOwn,
          numerics.allow_nondeterministic};
}

void TrainConfig::validate() const {
  check_sizes(model);
  model.validate();
  check_flow(flow);
  const Ranges plan_table("plan");
  plan_table.between("batch", plan.batch, 1, kMostBatch);
  plan_table.at_least("cp", plan.cp, 0);
  plan_table.at_least("memory-per-rank", plan.memory_per_rank, 0);
  const Ranges parallel_table("parallel");
  parallel_table.at_least("ranks", parallel.ranks, 0);
  parallel_table.between("threads-per-rank", parallel.threads_per_rank, 0, kMostThreads);
  parallel_table.positive("transfer-timeout", parallel.transfer_timeout);
  if (numerics.device != "cuda" && numerics.attention_kernel == "cudnn")
    throw UsageError("attention-kernel 'cudnn' runs on a GPU alone; give --device cuda, or leave it out");
  check_optimisation(optimisation);
  const Ranges checkpoint_table("checkpoint");
  checkpoint_table.at_least("checkpoint-every", checkpoint.every, 0);
  checkpoint_table.at_least("keep-checkpoints", checkpoint.keep, 0);
}

void check_bags(const PlanOptions& plan, int64_t ranks) {
  if (plan.bags.empty()) return;
  if (plan.planner != "bags" && plan.planner != "all")
    throw UsageError(join_message("--bags cuts the ranks for the bags planner, not for planner '",
                                  plan.planner, "'; give --planner bags, or leave --bags out"));
  read_bags(plan.bags, ranks);
}

void check_cp(const PlanOptions& plan, int64_t ranks) {
  if (plan.cp == 0) return;
  if (!fixes_cp_size(plan.planner))
    throw UsageError(
        join_message("--cp ", plan.cp, " fixes the size of the static planners, and planner '", plan.planner,
                     "' chooses its own; give --planner static or static-balanced, or leave --cp out"));
  if (ranks % plan.cp != 0)
    throw UsageError(join_message("--cp ", plan.cp, " does not divide ", ranks,
                                  ranks == 1 ? " rank" : " ranks",
                                  "; give a size that does, or leave --cp out for the fastest"));
}

}  // namespace zoetrope
