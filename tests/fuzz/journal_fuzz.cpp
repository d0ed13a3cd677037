// What an earlier run left in a data set's folder: a journal, or a dataset.json, whichever the text looks
// like. Refused, or read; a journal that was read is written back to one that reads the same.
#include <cstdlib>
#include <fstream>

#include "core/check.h"
#include "tests/fuzz/fuzz.h"
#include "video/store/dataset_writer.h"
#include "video/store/journal.h"

namespace {

void write(const std::string& path, const uint8_t* data, size_t size) {
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(data), std::streamsize(size));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace zoetrope;
  const std::string folder = fuzz::empty_folder();
  write(journal_path(folder), data, size);
  write(folder + "/dataset.json", data, size);
  try {
    read_dataset_json(folder);
  } catch (const Error&) {}
  try {
    const Journal journal = read_journal(folder);
    replace_journal(folder, journal);
    const Journal again = read_journal(folder);
    if (again.rules != journal.rules || again.entries.size() != journal.entries.size() ||
        again.batches.size() != journal.batches.size())
      std::abort();
  } catch (const Error&) {}
  return 0;
}
