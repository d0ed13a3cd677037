// Files written in pieces: what is read back, what the name holds meanwhile, and what a full one says.
#include "core/files.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <filesystem>
#include <random>

#include "core/check.h"
#include "core/content_hash.h"
#include "core/partial_file.h"
#include "tests/support/small_dataset.h"

namespace zoetrope {
namespace {

using testing_support::TemporaryFolder;

template <class Body>
std::string error_of(const Body& body) {
  try {
    body();
  } catch (const Error& error) { return error.what(); }
  return "no error";
}

TEST(Files, PiecesInAnyOrderReadBack) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(join_message("seed ", seed));
  std::mt19937 random(seed);
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/pieces";
  PartialFile file(path);
  std::string expected;
  for (int i = 0; i < 100; ++i) {
    const size_t at = random() % 5000;
    std::string piece(1 + random() % 3000, '\0');
    for (char& c : piece) c = char(random());
    file.write_at(piece.data(), piece.size(), at);
    expected.resize(std::max(expected.size(), at + piece.size()));
    expected.replace(at, piece.size(), piece);
    const size_t from = random() % expected.size();
    std::string read(random() % (expected.size() - from + 1), '\0');
    file.read_at(read.data(), read.size(), from);
    ASSERT_EQ(read, expected.substr(from, read.size())) << "piece " << i;
  }
  expected.resize(4000);
  file.resize(4000);
  EXPECT_EQ(file.hash_of(4000), content_hash(expected));
  EXPECT_FALSE(std::filesystem::exists(path));
  file.commit();
  EXPECT_EQ(read_file(path), expected);
  EXPECT_FALSE(std::filesystem::exists(path + ".partial"));
}

TEST(Files, ErrorsNameTheFileThatIsMissing) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/short";
  PartialFile file(path);
  file.write_at("12345", 5, 0);
  char read[8];
  EXPECT_EQ(error_of([&] { file.read_at(read, 8, 1); }),
            "can't read '" + path + "' at byte 5: it ends there");
  EXPECT_EQ(error_of([&] { PartialFile(folder.path() + "/none/a"); }),
            "can't create '" + folder.path() + "/none/a': No such file or directory");
}

/// No file may grow beyond `bytes` while it lives.
class SizeLimit {
 public:
  explicit SizeLimit(rlim_t bytes) : handler_(signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit = {bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~SizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    signal(SIGXFSZ, handler_);
  }

 private:
  sighandler_t handler_;
  rlimit before_ = {};
};

TEST(Files, OneThatMayNotGrowSaysWhatIsMissingAndGoes) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/full", content(1000, 'x');
  write_file_atomically(path, "old");
  std::string said[3];
  {
    const SizeLimit limit(300);
    said[0] = error_of([&] { write_file_atomically(path, content); });
    said[1] = error_of([&] { OpenFile(path, OpenFile::Mode::kAppend).write(content); });
    said[2] = error_of([&] { PartialFile(path).resize(1000); });
  }
  const std::string begins = "can't write '" + path + "': File too large; ";
  const std::string ends = " more bytes are needed; make room and run the same command again";
  EXPECT_EQ(said[0], begins + "700" + ends);
  EXPECT_EQ(said[1], begins + "703" + ends);
  EXPECT_EQ(said[2], begins + "1000" + ends);
  EXPECT_EQ(read_file(path), "old" + content.substr(0, 297));
  EXPECT_FALSE(std::filesystem::exists(path + ".partial"));
}

}  // namespace
}  // namespace zoetrope
