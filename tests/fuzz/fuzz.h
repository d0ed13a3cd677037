// What all fuzz targets share. A target is a file NAME_fuzz.cpp with libFuzzer's entry point; it is built
// twice: with libFuzzer (preset `fuzz`), and with replay_main.cxx, which runs the seeds and all inputs that
// ever broke something, as a test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace zoetrope::fuzz {

/// The input as a file in memory, so that no disk is worn. One per process: each call replaces the last.
std::string file_of(const uint8_t* data, size_t size);
/// An empty folder in memory that is this process's own; what an earlier call left there is gone.
std::string empty_folder();

}  // namespace zoetrope::fuzz
