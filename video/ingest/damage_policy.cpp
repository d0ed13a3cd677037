#include "video/ingest/damage_policy.h"

#include "core/check.h"

namespace zoetrope {

DamagePolicy damage_policy_of(const std::string& name) {
  if (name == "keep-clean") return DamagePolicy::kKeepClean;
  if (name == "drop") return DamagePolicy::kDrop;
  if (name == "fail") return DamagePolicy::kFail;
  throw UsageError(join_message("--damaged '", name, "': expected keep-clean, drop or fail"));
}

const char* rule_name_of(DamagePolicy policy) {
  return policy == DamagePolicy::kDrop ? "drop" : "keep-clean";
}

void apply_policy(DamagePolicy policy, DecodedClip& clip) {
  if (policy != DamagePolicy::kDrop || !clip.found_damage || !clip.refused.empty()) return;
  for (const std::string& cut : clip.cuts) clip.refused += (clip.refused.empty() ? "" : "; ") + cut;
  clip.refused = "damaged, and dropped (--damaged drop): " + clip.refused;
  clip.cuts.clear();
  clip.clip = {};
}

void require_sound(DamagePolicy policy, const ManifestEntry& entry) {
  if (policy != DamagePolicy::kFail || !entry.found_damage) return;
  throw Error(join_message("'", entry.name, "' is damaged: ", entry.reason,
                           "; mend or remove it, or say --damaged drop or keep-clean"));
}

void require_sound(DamagePolicy policy, const std::vector<ManifestEntry>& entries) {
  for (const ManifestEntry& entry : entries) require_sound(policy, entry);
}

}  // namespace zoetrope
