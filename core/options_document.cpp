#include "core/options_document.h"

#include <toml++/toml.h>
#include <sstream>

#include "core/check.h"

namespace zoetrope {

struct TomlTable::State {
  std::shared_ptr<const toml::table> document;
  const toml::table* table = nullptr;
  std::string name, path;  ///< of the file; "[general] ", empty at the top

  std::shared_ptr<const State> inner(const toml::table& inside, const std::string& key) const {
    return std::make_shared<const State>(State{document, &inside, name, path + "[" + key + "] "});
  }
};

namespace {

std::string shown(const toml::node& node) {
  std::ostringstream out;
  node.visit([&](const auto& value) { out << value; });
  return out.str();
}

std::optional<double> number_of(const toml::node& node) {
  if (const auto* whole = node.as_integer()) return double(whole->get());
  if (const auto* real = node.as_floating_point()) return real->get();
  return {};
}

std::optional<std::vector<double>> numbers_of(const toml::node& node) {
  if (const auto number = number_of(node)) return std::vector<double>{*number};
  const auto* list = node.as_array();
  if (list == nullptr) return {};
  std::vector<double> out;
  for (const toml::node& each : *list) {
    const auto number = number_of(each);
    if (!number) return {};
    out.push_back(*number);
  }
  return out;
}

}  // namespace

TomlTable TomlTable::parse(const std::string& text, const std::string& name) {
  try {
    auto document = std::make_shared<const toml::table>(toml::parse(text));
    return TomlTable(std::make_shared<const State>(State{document, document.get(), name, ""}));
  } catch (const toml::parse_error& error) {
    throw UsageError(join_message(name, ":", error.source().begin.line, ": ", error.description()));
  }
}

std::vector<std::string> TomlTable::keys() const {
  std::vector<std::string> out;
  for (const auto& [key, node] : *state_->table) out.emplace_back(key.str());
  return out;
}

bool TomlTable::has(const std::string& key) const { return state_->table->contains(key); }

std::string TomlTable::where(const std::string& key) const {
  const toml::node* node = state_->table->get(key);
  return join_message(
      state_->name, ": ", state_->path, "key '", key, "'",
      node == nullptr || node->is_table() || node->is_array_of_tables() ? "" : " = " + shown(*node));
}

void TomlTable::refuse(const std::string& key, const std::string& reason) const {
  throw UsageError(where(key) + ": " + reason);
}

std::optional<TomlTable> TomlTable::table(const std::string& key) const {
  const toml::node* node = state_->table->get(key);
  if (node == nullptr) return {};
  if (!node->is_table()) refuse(key, "expected a table");
  return TomlTable(state_->inner(*node->as_table(), key));
}

std::vector<TomlTable> TomlTable::tables(const std::string& key) const {
  std::vector<TomlTable> out;
  const toml::node* node = state_->table->get(key);
  if (node == nullptr) return out;
  if (!node->is_array_of_tables()) refuse(key, "expected tables, [[" + key + "]]");
  size_t number = 0;
  for (const toml::node& each : *node->as_array())
    out.push_back(TomlTable(state_->inner(*each.as_table(), join_message(key, " ", ++number))));
  return out;
}

std::optional<std::string> TomlTable::text(const std::string& key) const {
  const toml::node* node = state_->table->get(key);
  if (node == nullptr) return {};
  if (!node->is_string()) refuse(key, "expected a text in quotes");
  return node->as_string()->get();
}

std::optional<bool> TomlTable::flag(const std::string& key) const {
  const toml::node* node = state_->table->get(key);
  if (node == nullptr) return {};
  if (!node->is_boolean()) refuse(key, "expected true or false");
  return node->as_boolean()->get();
}

std::optional<int64_t> TomlTable::integer(const std::string& key) const {
  const toml::node* node = state_->table->get(key);
  if (node == nullptr) return {};
  if (!node->is_integer()) refuse(key, "expected a whole number");
  return node->as_integer()->get();
}

std::optional<double> TomlTable::number(const std::string& key) const {
  const toml::node* node = state_->table->get(key);
  if (node == nullptr) return {};
  const auto number = number_of(*node);
  if (!number) refuse(key, "expected a number");
  return number;
}

bool TomlTable::is_integer(const std::string& key) const {
  const toml::node* node = state_->table->get(key);
  return node != nullptr && node->is_integer();
}

std::optional<std::vector<int64_t>> TomlTable::integers(const std::string& key) const {
  const toml::node* node = state_->table->get(key);
  if (node == nullptr) return {};
  if (!node->is_array()) refuse(key, "expected a list of whole numbers");
  std::vector<int64_t> out;
  for (const toml::node& each : *node->as_array()) {
    if (!each.is_integer()) refuse(key, "expected a list of whole numbers");
    out.push_back(each.as_integer()->get());
  }
  return out;
}

std::optional<std::vector<std::vector<double>>> TomlTable::rows(const std::string& key) const {
  const toml::node* node = state_->table->get(key);
  if (node == nullptr) return {};
  if (const auto number = number_of(*node)) return std::vector<std::vector<double>>{{*number}};
  if (!node->is_array()) refuse(key, "expected a list of numbers, or of lists of numbers");
  std::vector<std::vector<double>> out;
  for (const toml::node& each : *node->as_array()) {
    auto numbers = numbers_of(each);
    if (!numbers) refuse(key, "expected a list of numbers, or of lists of numbers");
    out.push_back(std::move(*numbers));
  }
  return out;
}

}  // namespace zoetrope
