// The one exception type, and the check that throws it. Everything in the project stands on this file.
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>

namespace zoetrope {

/// Thrown for everything a user or a caller can get wrong; `what()` says what was found, what was
/// expected and what to do.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Wrong use of the command line or of a config file: exit code 2 instead of 3.
class UsageError : public Error {
 public:
  using Error::Error;
};

/// Joins its arguments into one string with `operator<<`.
template <class... Parts>
std::string join_message(Parts&&... parts) {
  std::ostringstream out;
  (out << ... << std::forward<Parts>(parts));
  return out.str();
}

}  // namespace zoetrope

/// Throws `Error` with the streamed parts and the source position when the condition is false.
#define ZT_CHECK(condition, ...)                                                                          \
  do {                                                                                                    \
    if (!(condition)) [[unlikely]]                                                                        \
      throw ::zoetrope::Error(::zoetrope::join_message(__VA_ARGS__, " [", __FILE__, ":", __LINE__, "]")); \
  } while (false)

/// As `ZT_CHECK`, for input that a user wrote: no source position, since it would not help them.
#define ZT_REQUIRE(condition, ...)                                    \
  do {                                                                \
    if (!(condition)) [[unlikely]]                                    \
      throw ::zoetrope::Error(::zoetrope::join_message(__VA_ARGS__)); \
  } while (false)
