// Where ingest's time goes: its stages one by one, on one thread and the same pictures, for `bench ingest`.
#pragma once

#include <string>
#include <vector>

namespace zoetrope {

/// CPU time of a stage per frame.
struct StageTime {
  std::string stage;
  double milliseconds = 0;
};

/// Decodes the first frames of a video, and times what follows on them: scores, conversion, hashes, shard.
/// `scratch`: folder for the shard. Throws: Error when the video can't be decoded.
std::vector<StageTime> time_ingest_stages(const std::string& video, const std::string& scratch, int64_t area);

}  // namespace zoetrope
