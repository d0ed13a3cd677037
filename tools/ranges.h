// What values of flags and config files can be.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>

#include "core/check.h"

namespace zoetrope {

/// Throws: UsageError of these parts when the condition is false.
void require_usage(bool condition, const auto&... text) {
  if (!condition) throw UsageError(join_message(text...));
}

/// Each check throws a UsageError that names the flag, what it is and what was expected.
class Ranges {
 public:
  /// `table`: of the config file that the values may come from; empty: flags alone.
  explicit Ranges(const std::string& table = "") : where_(table.empty() ? "" : " (config [" + table + "])") {}
  void between(const char* name, int64_t value, int64_t least, int64_t most) const {
    if (value < least || value > most) fail(name, value, join_message(least, " to ", most));
  }
  void at_least(const char* name, int64_t value, int64_t least) const {
    if (value < least) fail(name, value, join_message("at least ", least));
  }
  /// A finite number in [least, most].
  void number(const char* name, double value, double least, double most) const {
    if (!(value >= least && value <= most)) fail(name, value, join_message(least, " to ", most));
  }
  void not_negative(const char* name, double value) const {
    if (!std::isfinite(value) || value < 0) fail(name, value, "a finite number, 0 or more");
  }
  void positive(const char* name, double value) const {
    if (!std::isfinite(value) || value <= 0) fail(name, value, "a finite number above 0");
  }
  void finite(const char* name, double value) const {
    if (!std::isfinite(value)) fail(name, value, "a finite number");
  }

 private:
  template <class T>
  [[noreturn]] void fail(const char* name, T value, const std::string& expected) const {
    throw UsageError(join_message("--", name, where_, " is ", value, ", expected ", expected));
  }
  std::string where_;
};

}  // namespace zoetrope
