#include <toml++/toml.h>
#include <algorithm>

#include "core/files.h"
#include "core/options_values.h"

namespace zoetrope {
namespace {

std::string where_in(const std::string& file, const toml::source_region& region) {
  return join_message(file, ":", region.begin.line, ": ");
}

std::string kind_of_node(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table: return "a table";
    case toml::node_type::array: return "a list";
    case toml::node_type::string: return "a string";
    case toml::node_type::integer: return "an integer";
    case toml::node_type::floating_point: return "a number";
    case toml::node_type::boolean: return "true or false";
    default: return "a date or time";
  }
}

/// Whole numbers count as numbers ("clip = 1") where the double holds them exactly.
bool read_node(const toml::node& node, double& value) {
  constexpr int64_t kExact = int64_t(1) << 53;
  if (const auto* real = node.as_floating_point()) {
    value = real->get();
    return true;
  }
  const auto* whole = node.as_integer();
  if (!whole || whole->get() > kExact || whole->get() < -kExact) return false;
  value = double(whole->get());
  return true;
}
template <class T>
bool read_node(const toml::node& node, T& value) {
  const auto* found = node.as<T>();
  if (found) value = found->get();
  return found != nullptr;
}

/// One file's text being read into one set.
class Reader {
 public:
  Reader(const OptionSet& set, const std::string& file) : set_(set), file_(file) {}

  void read(const toml::table& root, const std::vector<std::string>& ignored) const {
    for (const auto& [key, node] : root) {
      const std::string table(key.str());
      if (std::find(ignored.begin(), ignored.end(), table) != ignored.end() && !has_table(table)) continue;
      if (!has_table(table))
        fail(key.source(), "unknown table or key '", table,
             "'; expected one of the tables: ", known_tables(ignored));
      if (!node.is_table())
        fail(key.source(), "'", table, "' is ", kind_of_node(node), ", expected a table [", table, "]");
      read_table(table, *node.as_table());
    }
  }

 private:
  template <class... Parts>
  [[noreturn]] void fail(const toml::source_region& region, Parts&&... parts) const {
    throw UsageError(where_in(file_, region) + join_message(std::forward<Parts>(parts)...));
  }

  bool has_table(const std::string& table) const {
    return !table.empty() && std::any_of(set_.options().begin(), set_.options().end(),
                                         [&](const Option& option) { return option.table == table; });
  }

  std::string known_tables(const std::vector<std::string>& ignored) const {
    std::vector<std::string> names;
    for (const Option& option : set_.options())
      if (!option.table.empty()) names.push_back(option.table);
    names.insert(names.end(), ignored.begin(), ignored.end());
    std::string list;
    for (size_t i = 0; i < names.size(); ++i)
      if (std::find(names.begin(), names.begin() + ptrdiff_t(i), names[i]) == names.begin() + ptrdiff_t(i))
        list += (list.empty() ? "[" : ", [") + names[i] + "]";
    return list.empty() ? "none" : list;
  }

  void read_table(const std::string& table, const toml::table& content) const {
    for (const auto& [key, node] : content) {
      const Option* found = nullptr;
      std::string known;
      for (const Option& option : set_.options()) {
        if (option.table != table) continue;
        if (option.name == key.str()) found = &option;
        known += (known.empty() ? "" : ", ") + option.name;
      }
      if (!found)
        fail(key.source(), "unknown key '", key.str(), "' in table [", table, "]; it knows: ", known);
      read_option(*found, key.source(), node);
    }
  }

  void read_option(const Option& option, const toml::source_region& region, const toml::node& node) const {
    const std::string name = option.table + "." + option.name;
    std::visit([&]<class T>(T* target) { read_value(option, name, region, node, *target); }, option.target);
  }

  template <class T>
  void read_value(const Option& option, const std::string& name, const toml::source_region& region,
                  const toml::node& node, T& target) const {
    T value{};
    if (!read_node(node, value))
      fail(region, name, " is ", kind_of_node(node), ", expected ", kind_of(option.target));
    if constexpr (std::is_same_v<T, std::string>) check_choice(option, where_in(file_, region) + name, value);
    target = std::move(value);
  }

  template <class T>
  void read_value(const Option& option, const std::string& name, const toml::source_region& region,
                  const toml::node& node, std::vector<T>& target) const {
    if (!node.is_array())
      fail(region, name, " is ", kind_of_node(node), ", expected ", kind_of(option.target));
    std::vector<T> values;
    for (const toml::node& element : *node.as_array()) {
      const std::string element_name = join_message(name, "[", values.size(), "]");
      T value{};
      if (!read_node(element, value))
        fail(element.source(), element_name, " is ", kind_of_node(element), ", expected ",
             kind_of(option.target));
      if constexpr (std::is_same_v<T, std::string>)
        check_choice(option, where_in(file_, element.source()) + element_name, value);
      values.push_back(std::move(value));
    }
    target = std::move(values);
  }

  const OptionSet& set_;
  const std::string& file_;
};

/// Help text as TOML comment lines.
std::string comment_of(const Option& option) {
  std::string text = option.help;
  for (size_t i = 0; i < option.choices.size(); ++i)
    text += (i == 0 ? "; one of: " : ", ") + option.choices[i];
  std::string out = "# ";
  for (char c : text) {
    if (c == '\n') out += "\n# ";
    else if (uint8_t(c) >= 0x20 && c != 0x7f) out += c;
  }
  return out + "\n";
}

}  // namespace

std::vector<std::string> load_toml_text(const OptionSet& set, const std::string& text,
                                        const std::string& name,
                                        const std::vector<std::string>& ignored_tables) {
  try {
    const toml::table root = toml::parse(std::string_view(text), std::string_view(name));
    Reader(set, name).read(root, ignored_tables);
    std::vector<std::string> named;
    for (const Option& option : set.options())
      if (root[option.table][option.name]) named.push_back(option.name);
    return named;
  } catch (const toml::parse_error& error) {
    throw UsageError(where_in(name, error.source()) + std::string(error.description()));
  }
}

std::vector<std::string> load_toml(const OptionSet& set, const std::string& path,
                                   const std::vector<std::string>& ignored_tables) {
  std::string text;
  try {
    text = read_file(path);
  } catch (const Error& error) { throw UsageError(error.what()); }
  return load_toml_text(set, text, path, ignored_tables);
}

std::string dump_toml(const OptionSet& set) {
  std::vector<std::string> tables;
  for (const Option& option : set.options())
    if (!option.table.empty() && std::find(tables.begin(), tables.end(), option.table) == tables.end())
      tables.push_back(option.table);
  std::string out;
  for (const std::string& table : tables) {
    out += (out.empty() ? "[" : "\n[") + table + "]\n";
    for (const Option& option : set.options())
      if (option.table == table) out += comment_of(option) + option.name + " = " + toml_value(option) + "\n";
  }
  return out;
}

}  // namespace zoetrope
