// TOML files that other programs own, read key by key with the file and the key in every message. Used for
// the data-set TOMLs of other trainers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace zoetrope {

/// One table of such a file. Getters give nothing when the key isn't there. Throws: UsageError naming file
/// and key when the value is of another kind.
class TomlTable {
 public:
  /// The whole file; `name` stands for it in messages. Throws: UsageError with the line of a syntax error.
  static TomlTable parse(const std::string& text, const std::string& name);

  /// Names of its keys.
  std::vector<std::string> keys() const;
  /// Whether a key is there.
  bool has(const std::string& key) const;
  /// The table of a key.
  std::optional<TomlTable> table(const std::string& key) const;
  /// The tables of [[key]]; none when it isn't there.
  std::vector<TomlTable> tables(const std::string& key) const;
  std::optional<std::string> text(const std::string& key) const;
  std::optional<bool> flag(const std::string& key) const;
  std::optional<int64_t> integer(const std::string& key) const;
  std::optional<double> number(const std::string& key) const;
  /// Whether the value is written as a whole number.
  bool is_integer(const std::string& key) const;
  std::optional<std::vector<int64_t>> integers(const std::string& key) const;
  /// A list of numbers or of lists of numbers; a plain number counts as a list of one.
  std::optional<std::vector<std::vector<double>>> rows(const std::string& key) const;
  /// "file.toml: [directory] key 'x' = 3", for messages.
  std::string where(const std::string& key) const;
  /// Throws: UsageError "file.toml: ... REASON".
  [[noreturn]] void refuse(const std::string& key, const std::string& reason) const;

 private:
  struct State;
  explicit TomlTable(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

}  // namespace zoetrope
