// What becomes of damaged clips, and of a run that finds one. Used by video/ingest.
#pragma once

#include <string>
#include <vector>

#include "video/media/decode.h"
#include "video/store/manifest.h"

namespace zoetrope {

/// kKeepClean: the longest run of sound frames. kDrop: refused. kFail: the first one in path order ends the
/// run before anything is sealed.
enum class DamagePolicy { kKeepClean, kDrop, kFail };
/// From "keep-clean", "drop", "fail". Throws: UsageError.
DamagePolicy damage_policy_of(const std::string& name);
/// Its name in the rules: a data set made by kFail holds no damaged clip, so kKeepClean makes the same bytes.
const char* rule_name_of(DamagePolicy policy);

/// With kDrop, turns a damaged clip into a refused one; the reason says what was wrong.
void apply_policy(DamagePolicy policy, DecodedClip& clip);
/// Throws: Error naming the first damaged clip when the policy is kFail.
void require_sound(DamagePolicy policy, const std::vector<ManifestEntry>& entries);
/// The same for one clip.
void require_sound(DamagePolicy policy, const ManifestEntry& entry);

}  // namespace zoetrope
