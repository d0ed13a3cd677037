#include "tests/support/mutant.h"

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

/// The command of the build that holds `part`.
std::string build_command(const std::string& part) {
  static const std::string all = run_in_build("ninja -t commands tests/cuda_ops_test");
  std::istringstream in(all);
  for (std::string line; std::getline(in, line);)
    if (line.find(part) != std::string::npos) return line;
  throw Error("no command of the build of tests/cuda_ops_test holds '" + part + "'");
}

std::string replace_once(const std::string& text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  ZT_CHECK(at != std::string::npos && text.find(from, at + 1) == std::string::npos, "'", from,
           "' is not there exactly once; adapt the list of planted faults");
  return text.substr(0, at) + to + text.substr(at + from.size());
}

}  // namespace

testing_support::Finished run_mutant(const Mutant& mutant) {
  const std::string folder =
      (build_folder() / "mutants" / std::regex_replace(mutant.name, std::regex("\\W+"), "_")).string();
  fs::create_directories(fs::path(folder + "/" + mutant.file).parent_path());
  const std::string changed =
      replace_once(read_file(kSource + "/" + mutant.file), mutant.old_text, mutant.new_text);
  write_file_atomically(folder + "/" + mutant.file, changed);
  // Headers are looked for in the mutant's folder first.
  std::string compile = build_command("-c " + kSource + "/" + mutant.source);
  compile = replace_once(compile, " -DZT_SIMT=1", " -I'" + folder + "' -DZT_SIMT=1");
  compile = std::regex_replace(compile, std::regex(" -M(D|T \\S+|F \\S+)| -Werror"), "");
  compile = std::regex_replace(compile, std::regex(" -o \\S+"), " -O1 -o '" + folder + "/mutant.o'");
  const std::string from = mutant.source == mutant.file ? folder : kSource;
  compile =
      replace_once(compile, "-c " + kSource + "/" + mutant.source, "-c '" + from + "/" + mutant.source + "'");
  run_in_build(compile);
  const std::string link = replace_once(build_command("-o tests/cuda_ops_test "), "-o tests/cuda_ops_test ",
                                        "'" + folder + "/mutant.o' -o '" + folder + "/mutant' ");
  run_in_build(link);
  return testing_support::run_process(
      {folder + "/mutant", "--gtest_filter=" + mutant.filter, "--gtest_brief=1", "--gtest_fail_fast"});
}

}  // namespace zoetrope::test
