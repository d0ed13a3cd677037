// Option values as text: what a flag says, what --help shows, what the saved TOML holds. Shared by the
// sources of core/options*.cpp.
#pragma once

#include <string>
#include <vector>

#include "core/options.h"

namespace zoetrope {

/// "an integer", "a list of strings", ...: what an option holds, for messages.
std::string kind_of(const OptionTarget& target);

/// The current value as a TOML value. Doubles are the shortest text that reads back bit-equal.
/// Throws: Error naming the option when a string is not valid UTF-8, which TOML can't hold.
std::string toml_value(const Option& option);

/// The current value as --help shows it: strings bare, lists with commas; empty for an empty one.
std::string shown_value(const Option& option);

/// Sets the target from the texts given for the flag: one for a single value; for lists any number, each
/// split at its commas, an empty text for an empty list.
/// Throws: UsageError naming the flag on text that is not of the option's kind, or not among its choices.
void assign_texts(const Option& option, const std::string& shown_name, const std::vector<std::string>& texts);

/// Throws: UsageError that starts with `where` and lists the choices when `value` is none of them.
void check_choice(const Option& option, const std::string& where, const std::string& value);

}  // namespace zoetrope
