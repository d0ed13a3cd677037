// From the options of `zoetrope plan` to the problems: which samples, which caps, which cost set.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/dry_run.h"
#include "tools/plan_report.h"
#include "tools/train_config.h"

namespace zoetrope {

/// [plan] with two more choices of planner, and cost sets on paper.
struct PlanTable : PlanOptions {
  void visit(auto&& field) {
    PlanOptions::visit(
        [&]<class T>(const char* name, T& value, const char* help, std::vector<std::string> choices = {}) {
          if (!choices.empty()) choices.insert(choices.end(), {"pipeline", "all"});
          if (std::string(name) == "cost")
            help =
                "built-in set, cost file of `zoetrope profile`, or square, square-linear, ring:H on paper: "
                "ring:1700 is\nlike NVLink, 11000 InfiniBand, 25000 PCIe; empty: data-sheet";
          field(name, value, help, choices);
        });
  }
};

/// Options of the command.
struct PlanToolOptions {
  TrainConfig config;
  PlanTable plan;
  PlannedModel planned;
  std::string lengths, trace, execution = "free", plan_out, html, timeline;
  int64_t tokens_per_rank = 0, samples = 0, step = 0, steps = 1, stages = 1;
  bool json = false;
  bool precision_was_given = false;  ///< as a flag; else --model of a name is planned in bf16
};

/// The problems of consecutive steps: samples of a data set, a file of lengths or a trace.
class PlanSteps {
 public:
  /// `whole_file`: all lengths of the file in their order are the one step.
  /// Throws: Error when the longest sample can't fit all ranks together.
  PlanSteps(const PlanToolOptions& options, bool whole_file);
  /// The problem of step `options.step` + `index`.
  PlanProblem problem(int64_t index) const;
  /// Throws: Error naming a sample that fits nowhere, of all that steps are drawn from.
  void check_all(const PlanRequest& request) const;
  /// Where lengths and cap come from, for people.
  const std::string& source() const { return source_; }
  const std::string& cap_source() const { return cap_source_; }

 private:
  void set_cost();
  void set_cluster(int64_t features);
  Workload workload(int64_t features) const;
  const PlanToolOptions& options_;
  bool whole_file_ = false;
  bool is_drawn() const { return options_.trace.empty() && !whole_file_; }  ///< by steps, in epochs
  SampleNames names_;
  std::vector<int64_t> lengths_;  ///< of all samples there are, of a trace those of the steps
  CostModel cost_;
  Cluster cluster_;
  PlanMemory memory_;
  std::string source_, cap_source_;
};

}  // namespace zoetrope
