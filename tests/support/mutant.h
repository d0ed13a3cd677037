// Builds a test program once more with one planted fault in a kernel, to see that its tests notice.
#pragma once

#include <ostream>
#include <string>

#include "tests/support/process.h"

namespace zoetrope::test {

/// One change of a source: `old_text`, found exactly once in `file`, becomes `new_text`.
struct Mutant {
  std::string name, file, old_text, new_text;
  std::string source;  ///< the .cu file to compile again: `file`, or one that includes it
  std::string filter;  ///< tests that must fail
};
/// For messages of googletest.
inline void PrintTo(const Mutant& mutant, std::ostream* out) { *out << mutant.name; }

/// Compiles the source with the change and the flags of the build folder, links it before the library of
/// tests/cuda_ops_test, and runs that program's tests.
/// Throws: Error when the old text isn't there once, or the mutant doesn't compile or link.
testing_support::Finished run_mutant(const Mutant& mutant);

}  // namespace zoetrope::test
