// The include rules, fences, sizes and doc comments of the whole tree, and planted breaches that prove that
// the checks can fail.
#include <gtest/gtest.h>
#include <algorithm>
#include <filesystem>
#include <map>

#include "core/files.h"
#include "tests/support/layering.h"

namespace zoetrope::layering {
namespace {

namespace fs = std::filesystem;

bool exists_in_tree(const std::string& path) { return fs::is_regular_file(fs::path(ZT_SOURCE_DIR) / path); }

/// Text files of the tree by their path from the root, sorted; outputs and hidden folders left out.
std::vector<std::string> tree_files() {
  const fs::path root(ZT_SOURCE_DIR);
  std::vector<std::string> files;
  for (const char* folder : {"core", "video", "schedule", "model", "parallel", "tools", "tests", "configs",
                             "cmake", "docs", ".ci"})
    if (fs::exists(root / folder))
      for (const auto& entry : fs::recursive_directory_iterator(root / folder))
        if (entry.is_regular_file()) files.push_back(entry.path().lexically_relative(root).string());
  for (const char* file : {"CMakeLists.txt", "CMakePresets.json", "README.md"}) files.push_back(file);
  std::sort(files.begin(), files.end());
  return files;
}

bool is_code(const std::string& path) {
  const std::string extension = fs::path(path).extension();
  return extension == ".cpp" || extension == ".h" || extension == ".cu" || extension == ".cuh";
}
bool is_text(const std::string& path) {
  const std::string extension = fs::path(path).extension();
  for (const char* known : {".txt", ".md", ".toml", ".sh", ".json", ".cmake", ".py", ""})
    if (extension == known) return true;
  return is_code(path);
}

std::string joined(const std::vector<std::string>& breaches) {
  std::string out;
  for (const std::string& each : breaches) out += each + "\n";
  return out;
}

using Check = std::function<std::vector<std::string>(const std::string&, const std::string&)>;
std::vector<std::string> check_tree(const std::function<bool(const std::string&)>& wanted,
                                    const Check& check) {
  std::vector<std::string> breaches;
  int64_t checked = 0;
  for (const std::string& path : tree_files()) {
    if (!wanted(path)) continue;
    ++checked;
    for (const std::string& each : check(path, read_file(std::string(ZT_SOURCE_DIR) + "/" + path)))
      breaches.push_back(each);
  }
  EXPECT_GT(checked, 20) << "the tree was not found below " << ZT_SOURCE_DIR;
  return breaches;
}

std::vector<std::string> includes(const std::string& path, const std::string& text) {
  return check_includes(path, text, exists_in_tree);
}

TEST(Tree, FollowsTheIncludeRules) { EXPECT_EQ(joined(check_tree(is_code, includes)), ""); }
TEST(Tree, KeepsFilesAndFunctionsShort) { EXPECT_EQ(joined(check_tree(is_code, check_sizes)), ""); }
TEST(Tree, HasDocumentedHeaders) { EXPECT_EQ(joined(check_tree(is_code, check_header)), ""); }
TEST(Tree, HoldsNoUnfinishedMarksOrForeignPaths) { EXPECT_EQ(joined(check_tree(is_text, check_words)), ""); }

TEST(Tree, DefinesEachTypeOnce) {
  std::map<std::string, std::string> first;
  std::string breaches;
  for (const std::string& path : tree_files())
    if (is_code(path))
      for (const std::string& name : defined_types(read_file(std::string(ZT_SOURCE_DIR) + "/" + path)))
        // In one file only branches of an #if can be two definitions.
        if (const auto [known, fresh] = first.emplace(name, path); !fresh && known->second != path)
          breaches += path + ": " + name + " is defined in " + known->second + " too\n";
  EXPECT_EQ(breaches, "");
  EXPECT_GT(first.size(), 300u) << "definitions were not seen";
}

TEST(TypeRules, SeeNamedNamespacesAndNoOthers) {
  const std::string text =
      "namespace zoetrope {\nnamespace {\nstruct Own {};\n}  // namespace\nclass Forward;\nclass Dit : Base "
      "{\n"
      "  struct Inner {};\n};\nstruct Dit::State {};\nenum class Kind { kA };\n}  // namespace zoetrope\n"
      "namespace a::b {\nstruct Last final {};\n}  // namespace a::b\nstruct Plain {};\n";
  EXPECT_EQ(joined(defined_types(text)), "zoetrope::Dit\nzoetrope::Kind\na::b::Last\nPlain\n");
}

TEST(IncludeRules, CatchPlantedBreaches) {
  const struct {
    const char *path, *text, *expected;
  } cases[] = {
      {"core/x.cpp", "#include \"video/clip.h\"\n", "core/ must not include video/"},
      {"video/x.cpp", "#include \"core/tensor.h\"\n#include \"model/dit.h\"\n",
       "video/x.cpp:2: video/ must not include model/"},
      {"video/x.cpp", "#include \"schedule/plan.h\"\n", "video/ must not include schedule/"},
      {"schedule/x.cpp", "#include \"model/dit.h\"\n", "schedule/ must not include model/"},
      {"schedule/x.cpp", "#include \"core/tensor.h\"\n", "touch tensors"},
      {"model/x.cpp", "#include \"parallel/comm.h\"\n", "model/ must not include parallel/"},
      {"model/x.cpp", "  #  include \"schedule/plan.h\"\n", "model/ must not include schedule/"},
      {"model/ops/cpu/x.cpp", "#include \"model/dit.h\"\n", "model/ops/ must not include model/"},
      {"parallel/x.cpp", "#include \"video/clip.h\"\n", "parallel/ must not include video/"},
      {"parallel/x.cpp", "#include \"tools/version.h\"\n", "parallel/ must not include tools/"},
      {"tools/x.cpp", "#include \"tests/support/layering.h\"\n", "tools/ must not include tests/"},
      {"other/x.cpp", "#include \"core/check.h\"\n", "no include rule"},
      {"core/x.cpp", "#include \"check.h\"\n", "no such file"},
      {"core/tensor.cpp", "#include <vector>\n#include \"core/tensor.h\"\n", "own header"},
      {"video/x.cpp", "#include <hdf5.h>\n", "HDF5"},
      {"video/store/shard.h", "#include <hdf5.h>\n", "HDF5"},
      {"schedule/x.cpp", "#include <libavformat/avformat.h>\n", "libav"},
      {"tools/x.cpp", "#include <opencv2/imgproc.hpp>\n", "OpenCV"},
      {"model/x.cpp", "#include <dnnl.hpp>\n", "oneDNN"},
      {"core/x.cpp", "#include <omp.h>\n", "OpenMP"},
      {"tools/train.cpp", "#include <CLI/CLI.hpp>\n", "CLI11"},
      {"core/config.cpp", "#include <toml++/toml.h>\n", "toml++"},
      {"parallel/other.cpp", "#include <mpi.h>\n", "MPI"},
      {"core/device.h", "#include <cuda_runtime.h>\n", "CUDA"},
      {"schedule/plan.h", "#include <nlohmann/json.hpp>\n", "nlohmann"},
      {"core/x.cpp", "#include <gtest/gtest.h>\n", "googletest"},
      {"tests/cuda/ops_test.cpp", "#include \"tests/simt/simt.h\"\n", "tests/cuda/devices.h"},
  };
  for (const auto& each : cases) {
    const std::string found = joined(includes(each.path, each.text));
    EXPECT_NE(found.find(each.expected), std::string::npos)
        << each.path << ": " << each.text << "found: " << found;
    EXPECT_EQ(std::count(found.begin(), found.end(), '\n'), 1) << found;
  }
}

TEST(IncludeRules, AllowWhatIsAllowed) {
  const struct {
    const char *path, *text;
  } cases[] = {
      {"core/tensor.cpp", "#include \"core/tensor.h\"\n#include <vector>\n"},
      {"core/options_cli.cpp", "#include <CLI/CLI.hpp>\n"},
      {"video/store/shard_writer.cpp", "#include <hdf5.h>\n"},
      {"schedule/loader_blocks.cpp", "#include \"core/tensor.h\"\n#include \"video/clip.h\"\n"},
      {"parallel/x.cpp",
       "#include \"model/ops/ops.h\"\n#include \"schedule/plan.h\"\n#include <nlohmann/json.hpp>\n"},
      {"tools/x.cpp", "// #include <mpi.h>\n#include \"parallel/comm.h\"\n"},
      {"tests/cuda/devices_emulated.cpp", "#include \"tests/simt/simt.h\"\n"},
      {"tests/video/x_test.cpp",
       "#include <gtest/gtest.h>\n#include <hdf5.h>\n#include \"tools/version.h\"\n"},
  };
  for (const auto& each : cases) EXPECT_EQ(joined(includes(each.path, each.text)), "") << each.path;
}

std::string function_of_lines(int lines) {
  std::string text = "int f(int x) {\n";
  for (int i = 0; i < lines - 2; ++i) text += "  x += 1;\n";
  return text + "}\n";
}

TEST(SizeRules, CountLinesOfFilesAndFunctions) {
  std::string lines;
  for (int i = 0; i < 150; ++i) lines += "//\n";
  EXPECT_EQ(joined(check_sizes("core/x.h", lines)), "");
  EXPECT_EQ(joined(check_sizes("core/x.h", lines + "//\n")),
            "core/x.h:151: file of 151 lines, at most 150\n");
  EXPECT_EQ(joined(check_sizes("core/x.cpp", lines + lines + lines)), "");
  EXPECT_NE(joined(check_sizes("core/x.cpp", lines + lines + lines + lines)), "");
  EXPECT_EQ(joined(check_sizes("core/x.cpp", function_of_lines(60))), "");
  EXPECT_EQ(joined(check_sizes("core/x.cpp", "\n" + function_of_lines(61))),
            "core/x.cpp:2: function of 61 lines, at most 60\n");
  const std::string wrapped =
      "namespace a {\nnamespace {\nclass B {\n public:\n  " + function_of_lines(61) + "};\n}\n}\n";
  EXPECT_EQ(joined(check_sizes("core/x.cpp", wrapped)), "core/x.cpp:5: function of 61 lines, at most 60\n");
}

TEST(SizeRules, SeeThroughLiteralsAndTables) {
  const std::string odd =
      "#include <x>\n#define M(x) \\\n  if (x) {\nconst char* a = \"}{\";  // {\nconst char b = '{';\n"
      "int big = 1'000;\nconst int c[] = {f(1),\n2};\nconst char* d = R\"(}}\")\";\n/* { */\n";
  const auto spans = find_functions(
      odd + "void f() {\n  g([] { return 1; });\n}\nstruct S { int x = 1; int g() { return x; } };\n");
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(spans[0].first_line, 11);
  EXPECT_EQ(spans[0].last_line, 13);
  EXPECT_EQ(spans[1].first_line, 14);
}

TEST(HeaderRules, CatchPlantedBreaches) {
  const std::string good = "// What it is for.\n#pragma once\n";
  EXPECT_EQ(joined(check_header("core/x.h", good + "/// Adds.\nint add(int a, int b);\nint more(int a);\n")),
            "");
  EXPECT_EQ(joined(check_header("core/x.h",
                                good + "class A {\n public:\n  explicit A(int x);\n  int size() const;\n"
                                       " private:\n  void grow(int by);\n};\n")),
            "");
  EXPECT_NE(joined(check_header("core/x.h", good + "int add(int a, int b);\n")), "");
  EXPECT_NE(
      joined(check_header("core/x.h", good + "/// Adds.\nint add(int a);\n\nint other(int a,\n   int b);\n")),
      "");
  EXPECT_NE(
      joined(check_header("core/x.h", good + "class A {\n private:\n  int x_;\n};\n\nvoid f(const A& a);\n")),
      "");
  EXPECT_NE(joined(check_header("core/x.h", good + "class A {\n public:\n  void f(int x) const;\n};\n")), "");
  EXPECT_NE(joined(check_header("core/x.h", "#pragma once\n")), "");
  EXPECT_NE(joined(check_header("core/x.h", "// What it is for.\n")), "");
  EXPECT_NE(joined(check_header("core/x.h", good + "using namespace std;\n")), "");
  EXPECT_EQ(joined(check_header("core/x.cpp", "int add(int a, int b);\n")), "");
}

TEST(WordRules, CatchPlantedBreaches) {
  EXPECT_EQ(joined(check_words("a.md", "fine\n")), "");
  EXPECT_EQ(joined(check_words("a.md", std::string("fine\n// TO") + "DO: later\n")),
            std::string("a.md:2: holds 'TO") + "DO'\n");
  EXPECT_NE(joined(check_words("a.sh", std::string("cd /wo") + "rk/main\n")), "");
}

}  // namespace
}  // namespace zoetrope::layering
