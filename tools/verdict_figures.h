// From a problem and its reports to the figures of the verdict; changed problems are planned again here.
#pragma once

#include <vector>

#include "tools/plan_report.h"
#include "tools/waiting_notes.h"

namespace zoetrope {

/// Figures of a comparison of all planners; `steps` holds each step's reports, `first` is the first one's
/// problem. Trials are left out, and said to be, where planning again would take long.
VerdictFigures verdict_figures(const PlanProblem& first, const std::vector<std::vector<PlanReport>>& steps,
                               const Doing& doing = nullptr);

/// Ours and the best balanced static plan with slower and faster links, other caps, other ranks, in
/// lock-step; what makes no problem is left out.
std::vector<VerdictTrial> verdict_trials(const PlanProblem& problem, const Doing& doing = nullptr);

}  // namespace zoetrope
