// How `zoetrope profile` shows what it measured: the fit table, the cost set, JSON.
#pragma once

#include <string>
#include <vector>

#include "schedule/cost.h"
#include "schedule/kernel_choices.h"
#include "tools/profile_step.h"

namespace zoetrope {

/// All of a profile.
struct Profile {
  CostModel cost;
  KernelChoices kernels;
  std::vector<MeasuredStep> steps;
  StepFit fit;
  LinkRate link;  ///< 0: one rank
  int ranks = 1, threads = 1;
  std::string model, precision;
  int64_t parameters = 0;
};

/// Every measured micro-batch by pass, beside the fit.
void print_fit(const Profile& profile);
/// The cost set's figures.
void print_cost(const Profile& profile);
/// The same as JSON.
std::string profile_to_json(const Profile& profile);
/// Comment lines for the head of the cost file: what was measured with what, and how well the fit fits.
std::string file_header(const Profile& profile);
/// The kernels that the steps ran on, for its end: of GPUs alone, a processor has no choice.
std::string kernels_text(const Profile& profile);

}  // namespace zoetrope
