// What both readers of data-set TOMLs share: which keys are done, said to be unnecessary, or refused. Used by
// video/sources/toml_*.
#pragma once

#include <string>
#include <vector>

#include "core/options_document.h"
#include "video/sources/plan_parts.h"

namespace zoetrope {

/// A key that our design makes unnecessary, and why.
struct UnneededKey {
  const char *key, *why;
};

/// Refuses keys that are neither known nor on a list. Throws: UsageError naming the first.
void refuse_unknown_keys(const TomlTable& table, const std::vector<std::string>& known,
                         const std::vector<UnneededKey>& unneeded);
/// A note for each unneeded key that is there.
void note_unneeded(const TomlTable& table, const std::vector<UnneededKey>& unneeded,
                   std::vector<std::string>& notes);
/// Only files right in the folder, as the other trainers look for them; the rest counts as ignored.
void keep_direct_files(FoundFiles& files);
/// How often the clips count. Throws: UsageError when it is no whole number of at least 1.
int64_t repeats_of(const TomlTable& table, const std::string& key, int64_t otherwise);
/// Sets them on every clip.
void set_repeats(IngestPlan& plan, int64_t repeats);

/// The two TOMLs. `folder`: where the file lies.
IngestPlan plan_diffusion_pipe(const TomlTable& root, const std::string& folder,
                               const IngestPlanOptions& options);
IngestPlan plan_musubi(const TomlTable& root, const std::string& folder, const IngestPlanOptions& options);

}  // namespace zoetrope
