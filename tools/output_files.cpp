#include "tools/output_files.h"

#include <algorithm>
#include <filesystem>

#include "core/check.h"
#include "core/files.h"

namespace zoetrope {
namespace {

/// Cost sets may be names that a folder happens to have too.
bool is_read(const FileFlag& input) {
  return std::filesystem::is_regular_file(input.path) ||
         (input.flag == "data" && std::filesystem::is_directory(input.path));
}

}  // namespace

void check_outputs(const std::vector<FileFlag>& outputs, const std::vector<FileFlag>& inputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const FileFlag& output = outputs[i];
    if (output.path.empty()) continue;
    for (size_t j = 0; j < i; ++j)
      if (!outputs[j].path.empty() && lies_in(output.path, outputs[j].path) &&
          lies_in(outputs[j].path, output.path))
        throw UsageError(join_message("--", outputs[j].flag, " and --", output.flag, " both write '",
                                      output.path, "'; give each a file of its own"));
    for (const FileFlag& input : inputs)
      if (is_read(input) && lies_in(output.path, input.path))
        throw UsageError(join_message("--", output.flag, " would write '", output.path, "' over what --",
                                      input.flag, " '", input.path, "' reads; give it another name"));
  }
  for (const FileFlag& output : outputs)
    if (!output.path.empty()) check_writable(output.path);
}

void refuse_empty_paths(const Command& command) {
  constexpr const char* kPaths[] = {"out",     "html",  "timeline",   "plan-out", "export", "run",   "resume",
                                    "lengths", "lists", "train-data", "name",     "play",   "sheet", "part"};
  for (const Option& option : command.options.options()) {
    const auto* text = std::get_if<std::string*>(&option.target);
    const bool is_path = std::find(std::begin(kPaths), std::end(kPaths), option.name) != std::end(kPaths);
    if (is_path && text != nullptr && (*text)->empty() && command.was_given(option.name))
      throw UsageError(
          join_message("--", option.name, " is empty, expected a name; leave the flag out for none"));
  }
}

}  // namespace zoetrope
