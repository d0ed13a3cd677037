// A line of manifest.jsonl: refused, or read and written back the same.
#include <cstdlib>

#include "core/check.h"
#include "tests/fuzz/fuzz.h"
#include "video/store/manifest.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace zoetrope;
  const std::string text(reinterpret_cast<const char*>(data), size);
  printable_name(text);
  try {
    const std::string written = manifest_line(parse_manifest_line(text, "line"), true);
    if (manifest_line(parse_manifest_line(written, "written line"), true) != written) std::abort();
  } catch (const Error&) { return 0; }
  return 0;
}
