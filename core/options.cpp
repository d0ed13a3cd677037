#include "core/options.h"

#include <algorithm>

namespace zoetrope {

void OptionSet::add(Option option) {
  ZT_CHECK(!option.name.empty(), "an option needs a name");
  for (const Option& other : options_)
    ZT_CHECK(other.name != option.name, "option '", option.name, "' is declared twice, in table '",
             other.table, "' and in table '", option.table, "'");
  options_.push_back(std::move(option));
}

bool Command::was_given(const std::string& option_name) const {
  return std::find(given->begin(), given->end(), option_name) != given->end();
}

}  // namespace zoetrope
