// From the options of `zoetrope plan` to the problem: which samples, which caps, which cost set.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/plan_report.h"
#include "tools/train_config.h"

namespace zoetrope {

/// [plan] with one more choice of planner.
struct PlanTable : PlanOptions {
  void visit(auto&& field) {
    PlanOptions::visit(
        [&]<class T>(const char* name, T& value, const char* help, std::vector<std::string> choices = {}) {
          if (!choices.empty()) choices.push_back("all");
          field(name, value, help, choices);
        });
  }
};

/// Options of the command.
struct PlanToolOptions {
  TrainConfig config;
  PlanTable plan;
  std::string lengths, plan_out;
  int64_t tokens_per_rank = 0, step = 0;
  bool json = false;
};

/// Reads lengths and cost set and derives the cap. `whole_file`: all lengths in their order are one step.
/// `source`: what the cap comes from, for people.
/// Throws: Error when the longest sample can't fit all ranks together.
PlanProblem read_problem(const PlanToolOptions& options, bool whole_file, std::string& source);

}  // namespace zoetrope
