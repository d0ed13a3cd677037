// Frame-exactness of every healthy trap file and every real clip that is there: whatever is asked for, the
// frames are those of a linear decode with one thread, by their times, numbers and pictures.
#include <gtest/gtest.h>
#include <algorithm>
#include <filesystem>
#include <map>
#include <random>

#include "core/content_hash.h"
#include "core/files.h"
#include "core/thread_pool.h"
#include "tests/support/linear_decode.h"
#include "tests/support/media.h"
#include "tests/support/small_dataset.h"
#include "tests/support/trap_files.h"
#include "video/ingest/ingest.h"
#include "video/media/decode.h"

namespace zoetrope {
namespace {

using testing_support::LinearDecode;

/// Small pictures: which frame it is can be told all the same.
SizeRule small() { return {{1, 1, 1}, int64_t(96) * 64, false}; }

/// Windows of a file at one rate.
struct Request {
  double fps = 0;
  std::vector<Window> windows;
};

std::string text_of(const Request& request) {
  std::string text = "at " + std::to_string(request.fps) + " fps";
  for (const Window& w : request.windows)
    text += " [" + std::to_string(w.start.num) + "/" + std::to_string(w.start.den) + ", " +
            std::to_string(w.end.num) + "/" + std::to_string(w.end.den) + ")";
  return text;
}

/// Uniform, dense and random sampling.
std::vector<Request> requests(const LinearDecode& reference, std::mt19937_64& random) {
  const int64_t base = reference.time_base.den, first = reference.ticks[0];
  const double length = double(reference.end_tick - first) * reference.time_base.value();
  const double rate = double(reference.num_frames()) / length;
  std::vector<Request> out{{1, {}}, {rate / 7, {}}, {rate * 2, {}}};
  const std::vector<double> rates = {0.7, 3, 8, 23.976, 25, 29.97, 50, rate / 3};
  const auto draw = [&](int64_t below) {
    return std::uniform_int_distribution<int64_t>(0, std::max<int64_t>(below - 1, 0))(random);
  };
  for (int i = 0; i < 6; ++i) {
    Request request{rates[size_t(draw(int64_t(rates.size())))], {}};
    for (int64_t left = 1 + draw(3); left > 0; --left) {
      // Half of the starts lie on a frame's own time, where a rounded comparison would show its neighbour.
      const int64_t tick = reference.ticks[size_t(draw(reference.num_frames()))] - first;
      Ratio start{tick * reference.time_base.num, base};
      if (draw(2) == 0) start = {draw(int64_t(length * 1000) + 1), 1000};
      request.windows.push_back({start, seconds_of_double(start.value() + 0.02 + double(draw(900)) / 1000)});
    }
    out.push_back(std::move(request));
  }
  return out;
}

void compare(const LinearDecode& reference, const Request& request, const std::vector<DecodedClip>& clips) {
  const std::vector<Window> windows = request.windows.empty() ? std::vector<Window>{{}} : request.windows;
  ASSERT_EQ(clips.size(), windows.size());
  for (size_t w = 0; w < windows.size(); ++w) {
    SCOPED_TRACE(text_of(request) + ", window " + std::to_string(w));
    const std::vector<int64_t> expected =
        reference.shown(windows[w].start, windows[w].end, ratio_of_fps(request.fps));
    const Clip& clip = clips[w].clip;
    ASSERT_EQ(clip.num_frames, int64_t(expected.size())) << clips[w].refused;
    for (int64_t k = 0; k < clip.num_frames; ++k) {
      const size_t frame = size_t(expected[size_t(k)]);
      ASSERT_EQ(clip.sources[size_t(k)].source_index, int64_t(frame)) << "output frame " << k;
      EXPECT_DOUBLE_EQ(
          clip.sources[size_t(k)].source_seconds,
          double(reference.ticks[frame]) * double(reference.time_base.num) / double(reference.time_base.den));
      const std::string_view picture(reinterpret_cast<const char*>(clip.frame(k)),
                                     size_t(clip.height * clip.width * 3));
      ASSERT_EQ(content_hash(picture), reference.pictures[frame]) << "output frame " << k;
    }
  }
}

void expect_exact(const std::string& path) {
  unsigned seed = unsigned(testing::UnitTest::GetInstance()->random_seed());
  if (seed == 0) seed = std::random_device{}() % 99999 + 1;
  SCOPED_TRACE(path + ": again with --gtest_random_seed=" + std::to_string(seed));
  std::printf("seed %u\n", seed);
  std::mt19937_64 random(seed);
  const LinearDecode reference = testing_support::decode_linearly(path, small());
  ASSERT_GT(reference.num_frames(), 0);
  const std::vector<Request> all = requests(reference, random);
  for (int workers : {1, 4}) {
    SCOPED_TRACE(workers);
    std::vector<std::vector<DecodedClip>> decoded(all.size());
    ThreadPool pool(workers);
    pool.parallel_for(int64_t(all.size()), [&](int64_t i) {
      DecodeRules rules;
      rules.size = small();
      rules.fps = all[size_t(i)].fps;
      rules.max_seconds = 1e6;
      decoded[size_t(i)] = decode_file(path, rules, all[size_t(i)].windows);
    });
    for (size_t i = 0; i < all.size(); ++i) compare(reference, all[i], decoded[i]);
  }
}

class HealthyTrap : public testing::TestWithParam<std::string> {};

TEST_P(HealthyTrap, IsSampledAsALinearDecodeShowsIt) { expect_exact(testing_support::trap_file(GetParam())); }

std::vector<std::string> healthy_names() {
  std::vector<std::string> names;
  for (const testing_support::TrapFile& file : testing_support::trap_files())
    if (file.healthy && std::string(file.name) != "cover.png") names.push_back(file.name);
  return names;
}

std::string name_of_test(std::string name) {
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Files, HealthyTrap, testing::ValuesIn(healthy_names()),
                         [](const testing::TestParamInfo<std::string>& info) {
                           return name_of_test(info.param);
                         });

/// Every trap, healthy or not, whole and in parts, through ingest.
TEST(AllTraps, GiveTheSameDataSetWithOneWorkerAndWithMany) {
  const testing_support::TemporaryFolder folder;
  const std::string source = folder.path() + "/source";
  std::filesystem::create_directories(source);
  std::string rows;
  for (const testing_support::TrapFile& file : testing_support::trap_files()) {
    std::filesystem::copy_file(testing_support::trap_file(file.name), source + "/" + file.name);
    if (file.healthy && std::string(file.name) != "cover.png")
      for (const char* part : {R"("start":0,"end":0.5)", R"("start":"0.3333333333")"})
        rows += std::string(R"({"video":")") + file.name + R"(","caption":"a trap",)" + part + "}\n";
  }
  testing_support::write_text(source + "/metadata.jsonl", rows);
  std::vector<std::map<std::string, std::string>> made;
  for (int64_t workers : {1, 4}) {
    IngestRequest request;
    request.source = source;
    request.dataset = folder.path() + "/" + std::to_string(workers);
    request.workers = workers;
    request.plan.missing = MissingCaption::kEmpty;
    const IngestResult result = ingest(request, [](const IngestProgress&) {});
    EXPECT_GT(result.entries.size(), testing_support::trap_files().size());
    std::map<std::string, std::string>& files = made.emplace_back();
    for (const auto& entry : std::filesystem::directory_iterator(request.dataset))
      files[entry.path().filename()] = read_file(entry.path());
  }
  EXPECT_TRUE(made[0] == made[1]);
}

/// A clip of a camera or a film, or a rendered one, as ffprobe counts it.
struct RealClip {
  const char* name;
  int64_t declared, presented;  ///< -1: its header says nothing
  double first_seconds;
};
void PrintTo(const RealClip& clip, std::ostream* out) { *out << clip.name; }

class RealClips : public testing::TestWithParam<RealClip> {};

TEST_P(RealClips, AreSampledAsALinearDecodeShowsThem) {
  const RealClip& clip = GetParam();
  const std::string path = testing_support::real_clips_folder() + "/" + clip.name;
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no " << path << "; tools/real_clips.sh fetches it";
  DecodeRules rules;
  rules.size = small();
  rules.fps = 1;
  rules.max_seconds = 1e6;
  const SourceFacts facts = decode_file(path, rules).at(0).facts;
  EXPECT_EQ(facts.declared, clip.declared);
  EXPECT_EQ(facts.presented, clip.presented);
  EXPECT_NEAR(facts.first_seconds, clip.first_seconds, 0.0005);
  expect_exact(path);
}

INSTANTIATE_TEST_SUITE_P(
    Clips, RealClips,
    testing::Values(RealClip{"VID_20191220_170832.mp4", 41, 41, 0},
                    RealClip{"movie-hello.mp4", 250, 249, 0.033}, RealClip{"movie-hello.avi", 209, 208, 0},
                    RealClip{"movie-hello.mpeg", -1, 249, 0.533},
                    RealClip{"movie-hello.ogg", -1, 242, 0.0333}, RealClip{"cockatoo.mp4", 280, 280, 0},
                    RealClip{"realshort.mp4", 36, 36, 0}, RealClip{"newtonscradle.gif", 36, 36, 0},
                    RealClip{"display-dual-monitors.webm", -1, 557, 0}),
    [](const testing::TestParamInfo<RealClip>& info) { return name_of_test(info.param.name); });

}  // namespace
}  // namespace zoetrope
