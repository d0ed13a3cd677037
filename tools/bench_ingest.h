// bench ingest: what ingest costs beside the bare decode of ffmpeg, where the rest goes, how it grows with
// workers and with the number of clips.
#pragma once

#include <cstdint>
#include <string>

namespace zoetrope {

/// What is measured.
struct IngestBench {
  std::string video;    ///< a camera clip; its stream is copied in a loop
  std::string scratch;  ///< folder for what is made on the way; empty: the system's for temporary files
  int64_t loops = 10, runs = 5;
  int64_t clips =
      0;  ///< more than 0: peak memory over so many small clips, and over a tenth of them, instead
  bool prints = true;
};

/// Measures, with a line each as it comes; all figures as JSON.
/// Throws: UsageError for a video that can't be read; Error when a command fails.
std::string run_bench_ingest(const IngestBench& bench);

}  // namespace zoetrope
