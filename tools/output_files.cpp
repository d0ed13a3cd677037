#include "tools/output_files.h"

#include <filesystem>

#include "core/check.h"
#include "core/files.h"
#include "core/options.h"

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

}  // namespace zoetrope
