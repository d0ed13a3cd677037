// The ways to plan that plan_ingest chooses from. Used by video/sources alone.
#pragma once

#include <map>
#include <string>

#include "video/sources/ingest_plan.h"
#include "video/sources/pairing.h"

namespace zoetrope {

/// What was found below a root, its folders of pictures turned into clips, with captions by every layout.
IngestPlan plan_found(FoundFiles& files, const IngestPlanOptions& options);

/// The rows of one table, whose media may lie anywhere: paths as written, or relative to the table's folder,
/// or else to the working directory.
IngestPlan plan_table(const std::string& table, const IngestPlanOptions& options);

/// The data-set TOML of diffusion-pipe ([[directory]]) or musubi-tuner ([[datasets]]).
IngestPlan plan_dataset_toml(const std::string& path, const IngestPlanOptions& options);

/// A folder or file that a TOML or a table names: absolute, or relative to `folder`, or else to the working
/// directory; as relative to `folder` when it is in neither.
std::string find_named(const std::string& folder, const std::string& written);

/// The folders of a TOML as one plan: sources, names and report. With several, each one's clips get its name
/// in front; the same name twice is told apart by a number.
class JoinedPlans {
 public:
  /// `alone`: there is but one.
  explicit JoinedPlans(bool alone) : alone_(alone) {}
  /// Adds a part that was read from `folder`.
  void add(const std::string& folder, IngestPlan part);
  IngestPlan take();

 private:
  bool alone_;
  std::map<std::string, int> used_;
  IngestPlan joined_;
};

}  // namespace zoetrope
