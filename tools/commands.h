// The subcommands, a file each; zoetrope.cpp lists them.
#pragma once

#include "core/options.h"
#include "tools/launch.h"

namespace zoetrope {

Command ingest_command();
Command merge_command();
Command inspect_command();
Command plan_command();
Command profile_command();
/// Trains on the ranks that `run_ranks` gives.
Command train_command(const RunRanks& run_ranks = run_on_ranks);
/// Samples on them.
Command sample_command(const RunRanks& run_ranks = run_on_ranks);
Command bench_command();
Command selftest_command();
Command heldout_command();

}  // namespace zoetrope
