#include "tests/support/mutant.h"

#include <algorithm>
#include <filesystem>
#include <regex>
#include <sstream>

#include "core/check.h"
#include "core/files.h"

namespace zoetrope::test {
namespace {

namespace fs = std::filesystem;

const std::string kSource = ZT_SOURCE_DIR;
fs::path build_folder() { return fs::path(ZT_BINARY).parent_path(); }

std::string run_in_build(const std::string& command) {
  const auto done =
      testing_support::run_process({"/bin/sh", "-c", "cd '" + build_folder().string() + "' && " + command});
  ZT_CHECK(done.exit_code == 0, "'", command, "' ended with ", done.exit_code, ": ", done.output);
  return done.output;
}

/// The command of the program's build that holds `part`.
std::string build_command(const std::string& program, const std::string& part) {
  std::istringstream in(run_in_build("ninja -t commands tests/" + program));
  for (std::string line; std::getline(in, line);)
    if (line.find(part) != std::string::npos) return line;
  throw Error("no command of the build of tests/" + program + " holds '" + part + "'");
}

std::string replace_once(const std::string& text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  ZT_CHECK(at != std::string::npos && text.find(from, at + 1) == std::string::npos, "'", from,
           "' is not there exactly once; adapt the list of planted faults");
  return text.substr(0, at) + to + text.substr(at + from.size());
}

/// Sources of the file's folder that include it, themselves or through a header of that folder.
void add_includers(const std::string& file, std::vector<std::string>& sources) {
  const fs::path folder = fs::path(file).parent_path();
  for (const auto& entry : fs::directory_iterator(fs::path(kSource) / folder)) {
    const std::string other = (folder / entry.path().filename()).string();
    if (!entry.is_regular_file() || other == file) continue;
    if (read_file(entry.path().string()).find("\"" + file + "\"") == std::string::npos) continue;
    const bool is_source = entry.path().extension() == ".cu" || entry.path().extension() == ".cpp";
    if (!is_source) add_includers(other, sources);
    else if (std::ranges::find(sources, other) == sources.end()) sources.push_back(other);
  }
}

/// What the mutant says, or all that include its file.
std::vector<std::string> sources_of(const Mutant& mutant) {
  if (!mutant.source.empty()) return {mutant.source};
  if (mutant.file.ends_with(".cu") || mutant.file.ends_with(".cpp")) return {mutant.file};
  std::vector<std::string> sources;
  add_includers(mutant.file, sources);
  ZT_CHECK(!sources.empty(), "no source includes ", mutant.file);
  return sources;
}

/// Compiles one source with the changed file. Returns: the object file.
std::string compile_changed(const Mutant& mutant, const std::string& folder, const std::string& source) {
  const std::string object = folder + "/" + fs::path(source).filename().string() + ".o";
  // Headers are looked for in the mutant's folder first.
  std::string compile = build_command(mutant.program, "-c " + kSource + "/" + source);
  compile = replace_once(compile, " -DZT_SIMT=1", " -I'" + folder + "' -DZT_SIMT=1");
  compile = std::regex_replace(compile, std::regex(" -M(D|T \\S+|F \\S+)| -Werror"), "");
  compile = std::regex_replace(compile, std::regex(" -o \\S+"), " -O1 -o '" + object + "'");
  const std::string from = source == mutant.file ? folder : kSource;
  run_in_build(replace_once(compile, "-c " + kSource + "/" + source, "-c '" + from + "/" + source + "'"));
  return object;
}

}  // namespace

std::vector<Mutant> read_mutants(const std::string& list, const std::string& folder,
                                 const std::string& program) {
  std::vector<Mutant> mutants;
  std::istringstream in(read_file(kSource + "/" + list));
  std::string filter = "*";
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    if (line.starts_with("@ ")) {
      filter = line.substr(2);
      continue;
    }
    const size_t colon = line.find(": "), arrow = line.find(" => ");
    ZT_CHECK(colon < arrow && arrow != std::string::npos, list, ": '", line,
             "' is no 'FILE: TEXT => OTHER TEXT'");
    const std::string number = std::to_string(mutants.size() + 1);
    mutants.push_back({program + " " + number + " " + line.substr(0, colon),
                       folder + "/" + line.substr(0, colon), line.substr(colon + 2, arrow - colon - 2),
                       line.substr(arrow + 4), "", filter, program, true});
  }
  ZT_CHECK(!mutants.empty(), list, ": no planted faults");
  return mutants;
}

testing_support::Finished run_mutant(const Mutant& mutant) {
  const std::string folder =
      (build_folder() / "mutants" / std::regex_replace(mutant.name, std::regex("\\W+"), "_")).string();
  fs::create_directories(fs::path(folder + "/" + mutant.file).parent_path());
  const std::string changed =
      replace_once(read_file(kSource + "/" + mutant.file), mutant.old_text, mutant.new_text);
  write_file_atomically(folder + "/" + mutant.file, changed);
  std::string objects;
  for (const std::string& source : sources_of(mutant))
    objects += "'" + compile_changed(mutant, folder, source) + "' ";
  const std::string output = "-o tests/" + mutant.program + " ";
  run_in_build(
      replace_once(build_command(mutant.program, output), output, objects + "-o '" + folder + "/mutant' "));
  // All of its tests, also where this process has a share of the mutants.
  return testing_support::run_process(
      {"/usr/bin/env", "-u", "GTEST_TOTAL_SHARDS", "-u", "GTEST_SHARD_INDEX", "/usr/bin/timeout", "120",
       folder + "/mutant", "--gtest_filter=" + mutant.filter, "--gtest_brief=1", "--gtest_fail_fast"});
}

}  // namespace zoetrope::test
