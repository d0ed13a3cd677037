// What differs between the options that a data set was begun with and those of now, in the words of the
// command line. Used by video/ingest and video/store where both must be the same.
#pragma once

#include <string>

namespace zoetrope {

/// One line after a line break, indented, for each option that differs: "--fps: then 8, now 4". Both texts
/// are rules as `rules_text` gives them.
std::string rules_difference(const std::string& then, const std::string& now);

/// Throws: Error that names the folder, lists what differs and says what to do, when the rules differ.
void require_same_rules(const std::string& folder, const std::string& then, const std::string& now);

}  // namespace zoetrope
