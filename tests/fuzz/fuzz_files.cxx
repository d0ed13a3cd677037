#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/fuzz/fuzz.h"

namespace zoetrope::fuzz {
namespace {

namespace fs = std::filesystem;

/// Removed at exit.
struct Scratch {
  std::string path;
  Scratch() {
    const fs::path root = fs::is_directory("/dev/shm") ? fs::path("/dev/shm") : fs::temp_directory_path();
    path = (root / ("zoetrope-fuzz-" + std::to_string(getpid()))).string();
    fs::create_directories(path);
  }
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
};

const std::string& scratch() {
  static const Scratch made;
  return made.path;
}

}  // namespace

std::string file_of(const uint8_t* data, size_t size) {
  const std::string path = scratch() + "/input";
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(data), std::streamsize(size));
  return path;
}

std::string empty_folder() {
  const std::string path = scratch() + "/folder";
  fs::remove_all(path);
  fs::create_directories(path);
  return path;
}

}  // namespace zoetrope::fuzz
