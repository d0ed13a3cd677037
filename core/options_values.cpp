#include "core/options_values.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <type_traits>

namespace zoetrope {
namespace {

template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};

/// Length of the UTF-8 sequence at `at`, or 0 when it is not valid (overlong, surrogate, cut off).
size_t utf8_length(const std::string& text, size_t at) {
  const auto byte = [&](size_t i) { return i < text.size() ? uint8_t(text[i]) : uint8_t(0); };
  const uint8_t first = byte(at);
  if (first < 0x80) return 1;
  size_t length = 0;
  uint32_t code = 0, smallest = 0;
  if (first >> 5 == 0x6) {
    length = 2;
    code = first & 0x1f;
    smallest = 0x80;
  } else if (first >> 4 == 0xe) {
    length = 3;
    code = first & 0x0f;
    smallest = 0x800;
  } else if (first >> 3 == 0x1e) {
    length = 4;
    code = first & 0x07;
    smallest = 0x10000;
  } else return 0;
  for (size_t i = 1; i < length; ++i) {
    if (byte(at + i) >> 6 != 0x2) return 0;
    code = code << 6 | (byte(at + i) & 0x3fu);
  }
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  return code < smallest || code > 0x10ffff || surrogate ? 0 : length;
}

std::string quote(const Option& option, const std::string& text) {
  std::string out = "\"";
  for (size_t at = 0; at < text.size();) {
    const size_t length = utf8_length(text, at);
    ZT_REQUIRE(length > 0, "option ", option.name, ": its value is not valid UTF-8 at byte ", at,
               ", so it can't be saved in a TOML file; rename the file or choose another text");
    const char c = text[at];
    if (length > 1) out.append(text, at, length);
    else if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') out += "\\n";
    else if (c == '\t') out += "\\t";
    else if (c == '\r') out += "\\r";
    else if (uint8_t(c) < 0x20 || c == 0x7f) {
      constexpr char kHex[] = "0123456789abcdef";
      out += "\\u00";
      out += kHex[uint8_t(c) >> 4];
      out += kHex[uint8_t(c) & 15];
    } else out += c;
    at += length;
  }
  return out + "\"";
}

std::string number_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char buffer[40];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  std::string text(buffer, end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string element_text(const Option&, bool value) { return value ? "true" : "false"; }
std::string element_text(const Option&, int64_t value) { return std::to_string(value); }
std::string element_text(const Option&, double value) { return number_text(value); }
std::string element_text(const Option& option, const std::string& value) { return quote(option, value); }

template <class Number>
bool read_number(const std::string& text, Number& value) {
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  return result.ec == std::errc() && result.ptr == text.data() + text.size();
}
bool read_element(const std::string& text, bool& value) {
  value = text == "true";
  return text == "true" || text == "false";
}
/// Also "80e9", where that is a whole number that a double holds exactly.
bool read_element(const std::string& text, int64_t& value) {
  if (read_number(text, value)) return true;
  double number = 0;
  constexpr double kExact = 9007199254740992;  // 2^53
  if (text.find_first_of("eE") == std::string::npos || !read_number(text, number)) return false;
  if (!(std::abs(number) <= kExact) || number != std::floor(number)) return false;
  value = int64_t(number);
  return true;
}
bool read_element(const std::string& text, double& value) { return read_number(text, value); }
bool read_element(const std::string& text, std::string& value) {
  value = text;
  return true;
}

std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

template <class T>
T parse_element(const Option& option, const std::string& shown_name, const std::string& text) {
  T value{};
  if (!read_element(text, value))
    throw UsageError(join_message(shown_name, ": expected ", kind_of(option.target), ", found '", text, "'"));
  if constexpr (std::is_same_v<T, std::string>) check_choice(option, shown_name, value);
  return value;
}

}  // namespace

std::string kind_of(const OptionTarget& target) {
  switch (target.index()) {
    case 0: return "true or false";
    case 1: return "an integer";
    case 2: return "a number";
    case 3: return "a string";
    case 4: return "a list of integers";
    case 5: return "a list of numbers";
    default: return "a list of strings";
  }
}

std::string toml_value(const Option& option) {
  return std::visit(
      [&]<class T>(T* value) -> std::string {
        if constexpr (IsVector<T>::value) {
          std::string out = "[";
          for (const auto& element : *value)
            out += (out.size() > 1 ? ", " : "") + element_text(option, element);
          return out + "]";
        } else {
          return element_text(option, *value);
        }
      },
      option.target);
}

std::string shown_value(const Option& option) {
  const auto bare = [&]<class T>(const T& value) {
    if constexpr (std::is_same_v<T, std::string>) return value;
    else return element_text(option, value);
  };
  return std::visit(
      [&]<class T>(T* value) -> std::string {
        if constexpr (IsVector<T>::value) {
          std::string out;
          for (const auto& element : *value) out += (out.empty() ? "" : ",") + bare(element);
          return out;
        } else {
          return bare(*value);
        }
      },
      option.target);
}

void assign_texts(const Option& option, const std::string& shown_name,
                  const std::vector<std::string>& texts) {
  std::visit(
      [&]<class T>(T* value) {
        if constexpr (IsVector<T>::value) {
          T list;
          for (const std::string& text : texts) {
            if (text.empty()) continue;
            // Words of their own are paths, which may hold a comma.
            for (const std::string& part : option.positional ? std::vector{text} : split_at_commas(text))
              list.push_back(parse_element<typename T::value_type>(option, shown_name, part));
          }
          *value = std::move(list);
        } else {
          if (texts.size() != 1)
            throw UsageError(join_message(shown_name, ": given ", texts.size(), " times, expected once"));
          *value = parse_element<T>(option, shown_name, texts[0]);
        }
      },
      option.target);
}

void check_choice(const Option& option, const std::string& where, const std::string& value) {
  if (option.choices.empty()) return;
  if (std::find(option.choices.begin(), option.choices.end(), value) != option.choices.end()) return;
  std::string list;
  for (const std::string& choice : option.choices) list += (list.empty() ? "" : ", ") + choice;
  throw UsageError(join_message(where, ": found '", value, "', expected one of: ", list));
}

}  // namespace zoetrope
