// Rank-tagged text on stderr. The only global of the project.
#pragma once

#include <string>

namespace zoetrope {

/// Rank and rank count shown in front of messages ("rank 3: "); one rank shows nothing.
void set_log_rank(int rank, int num_ranks);
/// One line "error: ..." / "warning: ..." / plain on stderr, written with one call so that lines of ranks
/// don't mix.
void log_error(const std::string& message);
void log_warning(const std::string& message);
void log_info(const std::string& message);

}  // namespace zoetrope
