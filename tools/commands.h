// The subcommands, a file each; zoetrope.cpp lists them.
#pragma once

#include "core/options.h"

namespace zoetrope {

Command ingest_command();
Command inspect_command();
Command plan_command();
Command profile_command();
Command train_command();
Command sample_command();
Command bench_command();
Command selftest_command();
Command heldout_command();

}  // namespace zoetrope
