// Builds a test program once more with one planted fault in its sources, to see that its tests notice.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "tests/support/process.h"

namespace zoetrope::test {

/// One change of a source: `old_text`, found exactly once in `file`, becomes `new_text`.
struct Mutant {
  std::string name, file, old_text, new_text;
  std::string source;  ///< what to compile again: `file`, one that includes it, or, if empty, all that do
  std::string filter;  ///< tests that must fail
  std::string program = "cuda_ops_test";
  bool may_crash = false;  ///< the program may also be ended by a signal
};
/// For messages of googletest.
inline void PrintTo(const Mutant& mutant, std::ostream* out) { *out << mutant.name; }

/// The planted faults of a list for `program`: lines "FILE: TEXT => OTHER TEXT" with files of `folder`,
/// comments behind #, and lines "@ FILTER" that name the tests for those below. A header is compiled again in
/// every source of its folder that includes it. Throws: Error naming a line that is none of these.
std::vector<Mutant> read_mutants(const std::string& list, const std::string& folder,
                                 const std::string& program);

/// Compiles the sources with the change and the flags of the build folder, links them before the libraries
/// of the program, and runs its tests.
/// Throws: Error when the old text isn't there once, or the mutant doesn't compile or link.
testing_support::Finished run_mutant(const Mutant& mutant);

}  // namespace zoetrope::test
