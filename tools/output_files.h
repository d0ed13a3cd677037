// Files that a command is asked to write, checked before its work begins.
#pragma once

#include <string>
#include <vector>

#include "core/options.h"

namespace zoetrope {

/// A flag that names a file; an empty path is a flag that was not given.
struct FileFlag {
  std::string flag, path;
};

/// Finds what would keep a command from writing all of `outputs`, or make it write over what it reads.
/// Throws: UsageError when two outputs are one file, or an output is an input or lies in an input's folder;
/// Error naming the file and the reason when it can't be written.
void check_outputs(const std::vector<FileFlag>& outputs, const std::vector<FileFlag>& inputs);

/// A flag for a file or folder that was given an empty path, as by an unset variable of a script, would be
/// read as not given. Throws: UsageError that names it.
void refuse_empty_paths(const Command& command);

}  // namespace zoetrope
