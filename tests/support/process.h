// The real binary in tests: core's child process under the names that they use.
#pragma once

#include <string>

#include "core/child_process.h"

namespace zoetrope::testing_support {

using zoetrope::Finished;
using zoetrope::run_process;
using Process = ChildProcess;

/// The JSON object or list that it printed; a slow command's notes on stderr may come before.
std::string printed_json(const Finished& finished);

}  // namespace zoetrope::testing_support
