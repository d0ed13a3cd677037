// Whole runs of the real binary on a small data set, for tests of resume, crashes and rank counts.
#pragma once

#include <string>
#include <vector>

#include "tests/support/process.h"
#include "tests/support/small_dataset.h"

namespace zoetrope::testing_support {

/// A data set and a place for runs, with the command that trains on it.
class TrainingFixture {
 public:
  /// `zoetrope train` on the tiny config, writing to `run`; `more` flags come last.
  std::vector<std::string> command(const std::string& run, const std::vector<std::string>& more) const;
  /// Runs it to the end.
  Finished train(const std::string& run, const std::vector<std::string>& more) const {
    return run_process(command(run, more));
  }
  /// Path of a run below the temporary folder.
  std::string run(const std::string& name) const { return folder_.path() + "/" + name; }
  const SmallDataset& data() const { return data_; }

 private:
  SmallDataset data_;
  TemporaryFolder folder_;
};

/// Content of every tensor file of a checkpoint, by name, to compare bit for bit.
std::vector<std::pair<std::string, std::string>> checkpoint_tensors(const std::string& folder);
/// One field of every line of a run's metrics.jsonl.
std::vector<double> metric_column(const std::string& run, const std::string& name);

}  // namespace zoetrope::testing_support
