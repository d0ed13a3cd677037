#include "tests/support/layering.h"

#include <algorithm>
#include <map>
#include <regex>
#include <sstream>

namespace zoetrope::layering {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

bool is_header(const std::string& path) { return path.ends_with(".h") || path.ends_with(".cuh"); }
bool is_source(const std::string& path) { return path.ends_with(".cpp") || path.ends_with(".cu"); }

/// The layer a path belongs to: its top folder, except that model/ops is a layer of its own.
std::string layer_of(const std::string& path) {
  if (path.starts_with("model/ops/")) return "model/ops";
  return path.substr(0, path.find('/'));
}

std::string breach(const std::string& path, size_t line, const std::string& what) {
  return path + ":" + std::to_string(line) + ": " + what;
}

std::string too_long(const char* what, int64_t lines, int64_t most) {
  return std::string(what) + " of " + std::to_string(lines) + " lines, at most " + std::to_string(most);
}

/// Which layers each layer may include; tests may include all.
const std::map<std::string, std::vector<std::string>>& allowed_layers() {
  static const std::map<std::string, std::vector<std::string>> allowed = {
      {"core", {"core"}},
      {"video", {"video", "core"}},
      {"schedule", {"schedule", "core", "video"}},
      {"model/ops", {"model/ops", "core"}},
      {"model", {"model", "model/ops", "core"}},
      {"parallel", {"parallel", "core", "model", "model/ops", "schedule"}},
      {"tools", {"tools", "core", "video", "schedule", "model", "model/ops", "parallel"}},
  };
  return allowed;
}

/// A third-party header and the files that may include it. Tests are free.
struct Fence {
  const char *header, *allowed, *name;
};
constexpr Fence kFences[] = {
    {"^(hdf5|H5\\w*)\\.h$", "^video/store/shard\\w*\\.cpp$", "HDF5 belongs in video/store/shard*.cpp"},
    {"^lib(av|sw)\\w+/", "^video/", "libav belongs in video/"},
    {"^opencv2/", "^video/", "OpenCV belongs in video/"},
    {"^webp/", "^video/media/", "libwebp belongs in video/media/"},
    {"^(dnnl|oneapi|omp\\.h)", "^model/ops/cpu/", "oneDNN and its OpenMP belong in model/ops/cpu/"},
    {"^(CLI|toml\\+\\+)/", "^(core/options\\w*\\.cpp|tools/zoetrope\\.cpp)$",
     "CLI11 and toml++ belong in core/options*.cpp and tools/zoetrope.cpp"},
    {"^mpi\\.h$", "^(parallel/comm_mpi|tools/zoetrope)\\.cpp$",
     "MPI belongs in parallel/comm_mpi.cpp and tools/zoetrope.cpp"},
    {"^nccl", "^parallel/(comm_nccl|loaded/nccl)\\.cpp$",
     "NCCL belongs in parallel/comm_nccl.cpp and parallel/loaded/nccl.cpp"},
    {"^(cuda|cublas|cudnn)",
     "^(core/\\w*_cuda\\.\\w+|core/cuda_check\\.h|model/ops/cuda/.*|parallel/comm_nccl\\.cpp|tools/gpu/"
     ".*\\.cu)$",
     "CUDA belongs in core/*_cuda.*, core/cuda_check.h, model/ops/cuda/, parallel/comm_nccl.cpp and "
     "tools/gpu/*.cu"},
    {"^nlohmann/", "\\.cpp$", "nlohmann::json belongs in sources, not in headers"},
    {"^(gtest|gmock)/", "^tests/", "googletest belongs in tests/"},
};

std::string fence_breach(const std::string& path, const std::string& target) {
  for (const Fence& fence : kFences)
    if (std::regex_search(target, std::regex(fence.header)) &&
        !std::regex_search(path, std::regex(fence.allowed)))
      return std::string(fence.name) + ", not here: <" + target + ">";
  return "";
}

std::string layer_breach(const std::string& path, const std::string& target) {
  const std::string from = layer_of(path), to = layer_of(target);
  const auto allowed = allowed_layers().find(from);
  if (allowed == allowed_layers().end()) return "files in " + from + "/ have no include rule";
  if (std::find(allowed->second.begin(), allowed->second.end(), to) == allowed->second.end())
    return from + "/ must not include " + to + "/: \"" + target + "\"";
  static const std::regex tensors("^core/(tensor|batch|arena|device)\\.h$"),
      touching("^schedule/(loader|prefetch)");
  if (from == "schedule" && std::regex_search(target, tensors) && !std::regex_search(path, touching))
    return "only schedule/loader* and schedule/prefetch* touch tensors: \"" + target + "\"";
  return "";
}

/// Tests of the CUDA backend run on GPUs too (tests/gpu_only.cmake), where there is no emulator.
std::string device_breach(const std::string& path, const std::string& target) {
  static const std::regex both(
      "^tests/(cuda/(?!devices_emulated|tools_|gpu_bench).*|support/cuda_\\w+)\\.(h|cpp)$");
  if (!target.starts_with("tests/simt/") || !std::regex_search(path, both)) return "";
  return "tests of the CUDA backend reach devices through tests/cuda/devices.h, not \"" + target + "\"";
}

/// The header of the same name beside a source; empty when there is none.
std::string own_header(const std::string& path, const std::function<bool(const std::string&)>& exists) {
  const std::string header = path.substr(0, path.rfind('.')) + ".h";
  return is_source(path) && exists(header) ? header : "";
}

int64_t count_open(const std::string& text) {
  return std::count(text.begin(), text.end(), '(') - std::count(text.begin(), text.end(), ')');
}

/// Declarations in a header that need a doc comment: functions with parameters that are not constructors,
/// operators, overrides or one-line bodies.
bool needs_comment(const std::string& line) {
  static const std::regex function(
      R"(^\s*(template\b.*>\s*)?(\[\[\w+\]\]\s*)?(virtual |static |inline |constexpr )*[\w:]+[\w:<>,&*\s]*[&*\s]\w+\([^)]*\S)");
  static const std::regex exempt(
      R"(\boperator\b|\boverride\b|= (default|delete)|\bvisit\(|^\s*(using|return|typedef|explicit|friend|else|if|for|throw|#)\b|\{.*\}\s*$|\w+\(\))");
  return std::regex_search(line, function) && !std::regex_search(line, exempt);
}

}  // namespace

std::vector<std::string> check_includes(const std::string& path, const std::string& text,
                                        const std::function<bool(const std::string&)>& exists) {
  static const std::regex include(R"(^\s*#\s*include\s*([<"])([^>"]+)[>"])");
  const bool in_tests = path.starts_with("tests/");
  const std::string own = own_header(path, exists);
  std::vector<std::string> breaches;
  bool first = true;
  size_t number = 0;
  for (const std::string& line : lines_of(text)) {
    ++number;
    std::smatch match;
    if (!std::regex_search(line, match, include)) continue;
    const std::string target = match[2];
    std::string what;
    if (first && !own.empty() && target != own)
      what = "the first include must be the own header \"" + own + "\"";
    else if (match[1] == "<" && !in_tests) what = fence_breach(path, target);
    else if (match[1] == "\"" && !exists(target))
      what = "no such file from the repository root: \"" + target + "\"";
    else if (match[1] == "\"") what = in_tests ? device_breach(path, target) : layer_breach(path, target);
    if (!what.empty()) breaches.push_back(breach(path, number, what));
    first = false;
  }
  return breaches;
}

std::vector<std::string> check_sizes(const std::string& path, const std::string& text) {
  constexpr size_t kHeaderLines = 150, kSourceLines = 500;
  // A test case, with its reference values, reads as one piece; it is bounded all the same.
  const int64_t function_lines = path.starts_with("tests/") ? 100 : 60;
  std::vector<std::string> breaches;
  const size_t lines = lines_of(text).size(), most = is_header(path) ? kHeaderLines : kSourceLines;
  if (lines > most) breaches.push_back(breach(path, lines, too_long("file", int64_t(lines), int64_t(most))));
  for (const FunctionSpan& span : find_functions(text)) {
    const int64_t length = span.last_line - span.first_line + 1;
    if (length > function_lines)
      breaches.push_back(breach(path, size_t(span.first_line), too_long("function", length, function_lines)));
  }
  return breaches;
}

std::vector<std::string> check_header(const std::string& path, const std::string& text) {
  static const std::regex kHiddenStart(R"(^\s*(private|protected):)");
  static const std::regex kPartStart(R"(^\s*public:|^\};|^\s*(class|struct) .*\{\s*$)");
  static const std::regex kShownStart(R"(^\s*public:|^\};|^(class|struct) )");
  std::vector<std::string> breaches;
  if (!is_header(path)) return breaches;
  const std::vector<std::string> lines = lines_of(text);
  if (lines.empty() || !lines[0].starts_with("// "))
    breaches.push_back(breach(path, 1, "no opening comment"));
  if (std::find(lines.begin(), lines.end(), "#pragma once") == lines.end())
    breaches.push_back(breach(path, 1, "no #pragma once"));
  if (path.starts_with("tests/")) return breaches;
  const std::vector<std::string> code = lines_of(blank_comments_and_literals(text));
  bool hidden = false,
       covered = false;  // in a private part; a comment above covers the group of lines below it
  int64_t parentheses = 0;
  for (size_t i = 0; i < code.size(); ++i) {
    const std::string& line = lines[i];
    if (code[i].find("using namespace") != std::string::npos)
      breaches.push_back(breach(path, i + 1, "using namespace in a header"));
    if (std::regex_search(code[i], kHiddenStart)) hidden = true;
    if (std::regex_search(code[i], kShownStart)) hidden = false;
    const bool ends_group = line.find_first_not_of(" ") == std::string::npos || line.starts_with("#") ||
                            std::regex_search(code[i], kPartStart);
    if (line.find_first_not_of(" ") == line.find("//")) covered = !ends_group;
    else if (ends_group) covered = false;
    const bool has_comment = covered || line.find("//") != std::string::npos;
    std::string declaration = code[i];
    for (size_t j = i + 1; j < code.size() && count_open(declaration) > 0; ++j) declaration += " " + code[j];
    if (parentheses == 0 && !hidden && !has_comment && needs_comment(declaration))
      breaches.push_back(breach(path, i + 1, "a public function without a doc comment"));
    parentheses += count_open(code[i]);
  }
  return breaches;
}

std::vector<std::string> check_words(const std::string& path, const std::string& text) {
  // Each in two pieces, so that this file may be checked too.
  static const std::vector<std::string> words = {
      "TO"
      "DO",
      "FIX"
      "ME",
      "/wo"
      "rk/",
      "/fa"
      "rm/",
      "X"
      "XX:"};
  std::vector<std::string> breaches;
  size_t number = 0;
  for (const std::string& line : lines_of(text)) {
    ++number;
    for (const std::string& word : words)
      if (line.find(word) != std::string::npos)
        breaches.push_back(breach(path, number, "holds '" + word + "'"));
  }
  return breaches;
}

}  // namespace zoetrope::layering
