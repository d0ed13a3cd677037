#include <CLI/CLI.hpp>
#include <cstdio>
#include <new>

#include "core/files.h"
#include "core/log.h"
#include "core/options_values.h"

namespace zoetrope {
namespace {

/// One option as CLI11 knows it. CLI11 collects the texts; they are turned into values only after the config
/// file has been read, so that flags win.
struct Bound {
  const Option* option;
  CLI::Option* flag;
  std::string shown_name;  ///< "--steps" or "SOURCE"
};

struct BoundCommand {
  CLI::App* app = nullptr;
  CLI::Option* config = nullptr;
  std::vector<Bound> bounds;
};

std::string upper_case(std::string text) {
  for (char& c : text) c = c == '-' ? '_' : char(std::toupper(uint8_t(c)));
  return text;
}

std::string type_name_of(const Option& option) {
  if (!option.choices.empty()) {
    std::string list;
    for (const std::string& choice : option.choices) list += (list.empty() ? "{" : ",") + choice;
    return list + "}" + (option.target.index() >= 4 ? ",..." : "");
  }
  constexpr const char* kNames[] = {"", "INT", "NUMBER", "TEXT", "INT,...", "NUMBER,...", "TEXT,..."};
  return kNames[option.target.index()];
}

/// Declares one option to CLI11.
Bound bind_option(CLI::App& app, const Option& option) {
  const std::string help = option.help + (option.required && !option.positional ? " (required)" : "");
  const bool is_flag = std::holds_alternative<bool*>(option.target);
  const bool is_list = option.target.index() >= 4;
  Bound bound{&option, nullptr, option.positional ? upper_case(option.name) : "--" + option.name};
  if (is_flag && !option.positional) {
    // Only a value that a file can set to true needs a way to say false.
    bound.flag = app.add_flag(bound.shown_name + (option.table.empty() ? "" : ",!--no-" + option.name), help);
  } else {
    bound.flag = app.add_option(bound.shown_name, help)->type_name(type_name_of(option));
    bound.flag->expected(is_list && option.positional ? -1 : 1);  // -1: one or more
    if (option.positional) bound.flag->required(option.required);
  }
  if (is_list) bound.flag->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  bound.flag->group(option.table.empty() ? (option.positional ? "Positionals" : "Options")
                                         : "[" + option.table + "]");
  return bound;
}

BoundCommand bind_command(CLI::App& main, const Command& command) {
  BoundCommand bound;
  bound.app = main.add_subcommand(command.name, command.help);
  if (!command.footer.empty()) bound.app->footer(command.footer);
  const std::string help = "TOML file whose values become the defaults of the flags below";
  bound.config = bound.app->add_option("--config", help)->type_name("FILE")->group("Options");
  for (const Option& option : command.options.options())
    bound.bounds.push_back(bind_option(*bound.app, option));
  return bound;
}

/// Reads the file of --config, when there is one.
void apply_config_file(const BoundCommand& bound, const Command& command) {
  if (bound.config->count() > 0)
    load_toml(command.options, bound.config->results().back(), command.ignored_tables);
}

void show_defaults(const BoundCommand& bound) {
  for (const Bound& each : bound.bounds) {
    if (!std::holds_alternative<bool*>(each.option->target))
      each.flag->default_str(shown_value(*each.option));
    else if (!each.option->table.empty())
      each.flag->description(each.option->help + " (default: " + shown_value(*each.option) + ")");
  }
}

/// Sets targets from the file, then from the flags, and notes which flags were given.
void apply_values(const BoundCommand& bound, const Command& command) {
  apply_config_file(bound, command);
  command.given->clear();
  if (bound.config->count() > 0) command.given->push_back("config");
  for (const Bound& each : bound.bounds) {
    if (each.flag->count() > 0) {
      assign_texts(*each.option, each.shown_name, each.flag->results());
      command.given->push_back(each.option->name);
    } else if (each.option->required && shown_value(*each.option).empty()) {
      throw UsageError(join_message(each.shown_name, " is required: ", each.option->help));
    }
  }
}

/// The whole program as CLI11 sees it.
struct Parser {
  CLI::App app;
  std::vector<BoundCommand> bound;
  std::vector<Command>& commands;

  Parser(std::vector<Command>& all, const std::string& about, const std::string& version)
      : app(about, "zoetrope"), commands(all) {
    app.set_version_flag("--version", version);
    app.require_subcommand(0, 1);
    app.footer("Each command has its own --help.");
    app.get_formatter()->column_width(34);
    for (const Command& command : commands) bound.push_back(bind_command(app, command));
  }

  /// Index of the chosen command, or -1.
  int chosen() const {
    for (size_t i = 0; i < bound.size(); ++i)
      if (bound[i].app->parsed()) return int(i);
    return -1;
  }

  void refuse_unknown_command(int argc, char** argv) const {
    if (argc < 2 || argv[1][0] == '-') return;
    std::string names;
    for (const Command& command : commands) {
      if (command.name == argv[1]) return;
      names += (names.empty() ? "" : ", ") + command.name;
    }
    throw UsageError(join_message("unknown command '", argv[1], "'; the commands are: ", names));
  }

  std::string help() {
    const int index = chosen();
    if (index < 0) return app.help();
    apply_config_file(bound[size_t(index)], commands[size_t(index)]);
    for (const BoundCommand& each : bound) show_defaults(each);
    return bound[size_t(index)].app->help("zoetrope");
  }
};

int run_parsed(Parser& parser, int argc, char** argv, const std::string& version) {
  try {
    parser.refuse_unknown_command(argc, argv);
    parser.app.parse(argc, argv);
  } catch (const CLI::CallForVersion&) {
    std::printf("%s\n", version.c_str());
    return 0;
  } catch (const CLI::CallForHelp&) {
    std::fputs(parser.help().c_str(), stdout);
    return 0;
  } catch (const CLI::ParseError& error) {
    const int index = parser.chosen();
    const std::string name = index < 0 ? "" : " " + parser.commands[size_t(index)].name;
    throw UsageError(join_message(error.what(), "; 'zoetrope", name, " --help' lists what there is"));
  }
  const int index = parser.chosen();
  if (index < 0) {
    std::fputs(parser.app.help().c_str(), stderr);
    return 2;
  }
  const Command& command = parser.commands[size_t(index)];
  apply_values(parser.bound[size_t(index)], command);
  return command.run();
}

}  // namespace

int run_command_line(int argc, char** argv, std::vector<Command>& commands, const std::string& about,
                     const std::string& version) {
  try {
    Parser parser(commands, about, version);
    const int code = run_parsed(parser, argc, argv, version);
    const bool written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
    ZT_REQUIRE(written, "can't write all of the output to stdout; a full disk, or a closed descriptor?");
    return code;
  } catch (const UsageError& error) {
    log_error(error.what());
    return 2;
  } catch (const std::bad_alloc&) {
    log_error("out of memory");
    return 3;
  } catch (const std::exception& error) {
    log_error(message_of(error));
    return 3;
  }
}

}  // namespace zoetrope
