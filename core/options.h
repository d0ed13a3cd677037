// Configuration: a struct names each field once; from that come command-line flags, TOML reading, --help,
// and the resolved TOML that is saved with a run. CLI11 and toml++ are seen by options.cpp alone.
//
//   struct ModelConfig {
//     int64_t width = 128;
//     void visit(auto&& field) { field("width", width, "model width D"); }
//   };
//   OptionSet options;
//   options.add_table("model", model);            // [model] in the file, --width on the command line
//   options.add_flag("json", json, "print JSON");  // command line only, not part of the config
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "core/check.h"

namespace zoetrope {

/// What a field can be bound to.
using OptionTarget = std::variant<bool*, int64_t*, double*, std::string*, std::vector<int64_t>*,
                                  std::vector<double>*, std::vector<std::string>*>;

struct Option {
  std::string table;  ///< TOML table and --help group; empty: command line only
  std::string name;   ///< words joined by '-', unique within an OptionSet
  OptionTarget target;
  std::string help;
  bool positional = false, required = false;
  std::vector<std::string> choices;  ///< allowed values of a string; empty: any
};

/// The options of one subcommand or of one file.
class OptionSet {
 public:
  /// Adds every field that `config.visit(field)` names: field(name, reference, help) or
  /// field(name, reference, help, {choices}).
  template <class Config>
  void add_table(const std::string& table, Config& config) {
    config.visit(
        [&]<class T>(const char* name, T& value, const char* help, std::vector<std::string> choices = {}) {
          add({table, name, &value, help, false, false, std::move(choices)});
        });
  }
  template <class T>
  void add_flag(const char* name, T& value, const char* help, std::vector<std::string> choices = {}) {
    add({"", name, &value, help, false, false, std::move(choices)});
  }
  template <class T>
  void add_positional(const char* name, T& value, const char* help, bool required = true) {
    add({"", name, &value, help, true, required, {}});
  }
  void add(Option option);
  const std::vector<Option>& options() const { return options_; }

 private:
  std::vector<Option> options_;
};

/// Reads a TOML file into the set's targets; fields that the file does not name keep their values.
/// `ignored_tables`: tables that other subcommands own, accepted and skipped.
/// Throws: UsageError with file and line on unknown or duplicate keys, unknown tables, wrong types,
/// values outside the choices, and TOML syntax errors. Returns the names of the fields that the file names.
std::vector<std::string> load_toml(const OptionSet& set, const std::string& path,
                                   const std::vector<std::string>& ignored_tables = {});
/// The same from a string; `name` stands for the file in messages.
std::vector<std::string> load_toml_text(const OptionSet& set, const std::string& text,
                                        const std::string& name,
                                        const std::vector<std::string>& ignored_tables = {});

/// The tables of the set as TOML, comments with each field's help; reading it back gives the same values
/// bit for bit.
std::string dump_toml(const OptionSet& set);

/// A subcommand: its options and what it does. `run` returns the exit code.
struct Command {
  std::string name, help, footer;
  OptionSet options;
  std::function<int()> run;
  std::vector<std::string> ignored_tables;  ///< tables a --config file may hold for other subcommands
  /// Names given on the command line (not from the file); filled before `run`.
  std::shared_ptr<std::vector<std::string>> given = std::make_shared<std::vector<std::string>>();
  bool was_given(const std::string& option_name) const;
};

/// Parses argv, reads --config FILE (every command has it) below the flags, runs the command.
/// Returns the exit code: UsageError and parse errors 2, Error 3, both printed as "error: ...".
int run_command_line(int argc, char** argv, std::vector<Command>& commands, const std::string& about,
                     const std::string& version);

}  // namespace zoetrope
