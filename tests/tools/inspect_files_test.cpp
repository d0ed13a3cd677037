// inspect --export, --play, --sheet: pictures are the tokens' bits, names of any kind, little memory.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "core/check.h"
#include "core/files.h"
#include "tests/support/process.h"
#include "tests/support/small_dataset.h"
#include "tools/clip_files.h"
#include "video/media/decode.h"
#include "video/store/dataset_writer.h"

namespace zoetrope {
namespace {

namespace fs = std::filesystem;
using testing_support::make_pattern_clip;
using testing_support::run_process;
using testing_support::SmallDataset;
using testing_support::TemporaryFolder;

DecodedClip read_back(const std::string& path, double fps = 8) {
  DecodeRules rules;
  rules.fps = fps;
  rules.size = {{1, 1, 1}, 1 << 24, false};
  return decode_file(path, rules).at(0);
}

nlohmann::json json_of(const std::string& path) { return nlohmann::json::parse(read_file(path)); }

TEST(SampleFrames, AreThoseOfTheClipsInAnyOrderAndPiece) {
  const SmallDataset made;
  const Dataset dataset(made.folder());
  for (const int64_t most_bytes : {int64_t(0), int64_t(3) * 24 * 32 * 3 * 4, int64_t(1) << 30})
    for (size_t i = 0; i < made.clips().size(); ++i) {
      const Clip& clip = made.clips()[i];
      SampleFrames frames(dataset, int64_t(i), most_bytes);
      ASSERT_EQ(frames.num_frames(), clip.num_frames);
      for (int64_t k = 0; k < clip.num_frames; ++k)
        for (const int64_t t : {k, k * 7 % clip.num_frames})
          ASSERT_EQ(std::memcmp(frames.frame(t), clip.frame(t), size_t(clip.height * clip.width * 3)), 0)
              << "clip " << i << " frame " << t << " bytes " << most_bytes;
      EXPECT_THROW(frames.frame(clip.num_frames), Error);
    }
  EXPECT_EQ(evenly_spaced(10, 3), (std::vector<int64_t>{0, 4, 9}));
  EXPECT_EQ(evenly_spaced(2, 3), (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(evenly_spaced(5, 1), (std::vector<int64_t>{0}));
  EXPECT_TRUE(evenly_spaced(0, 3).empty());
}

TEST(Export, WritesEveryFrameBitForBitWithItsTimes) {
  const SmallDataset made;
  const TemporaryFolder folder;
  const std::string out = folder.path() + "/out";
  const auto exported = run_process({ZT_BINARY, "inspect", made.folder(), "--export", out});
  ASSERT_EQ(exported.exit_code, 0) << exported.output;
  const nlohmann::json list = json_of(out + "/frames.json");
  EXPECT_EQ(list.at("version"), 1);
  ASSERT_EQ(list.at("clips").size(), made.clips().size());
  for (size_t i = 0; i < made.clips().size(); ++i) {
    const Clip& clip = made.clips()[i];
    const nlohmann::json& about = list["clips"][i];
    EXPECT_EQ(about.at("name"), clip.name);
    EXPECT_EQ(about.at("caption"), "clip number " + std::to_string(i));
    const std::string place = out + "/" + about.at("folder").get<std::string>();
    const nlohmann::json frames = json_of(place + "/frames.json");
    ASSERT_EQ(int64_t(frames.size()), clip.num_frames);
    for (int64_t t = 0; t < clip.num_frames; ++t) {
      const nlohmann::json& frame = frames[size_t(t)];
      const FrameSource& source = clip.sources[size_t(t)];
      EXPECT_EQ(frame.at("source_seconds").get<double>(), source.source_seconds);
      EXPECT_EQ(frame.at("output_seconds").get<double>(), source.output_seconds);
      EXPECT_EQ(frame.at("source_index"), source.source_index);
      EXPECT_TRUE(frame.at("pts").is_null()) << "no source, no time base";
      const DecodedClip back = read_back(place + "/" + frame.at("file").get<std::string>());
      ASSERT_EQ(back.clip.num_frames, 1) << back.refused;
      ASSERT_EQ(std::memcmp(back.clip.frame(0), clip.frame(t), size_t(clip.height * clip.width * 3)), 0);
    }
  }
}

TEST(Export, TakesNamesOfAnyKind) {
  const TemporaryFolder folder;
  const std::string data = folder.path() + "/data", out = folder.path() + "/out";
  const std::vector<std::string> names{"a b/c'd \"e\".mp4",
                                       "#1 100%?*.mov",
                                       "\\xff.mp4",
                                       "\xe6\x98\xa0\xe7\x94\xbb.mp4#0",
                                       std::string(250, 'x') + ".mp4",
                                       std::string(250, 'x') + ".mov",
                                       "-rf.mp4"};
  DatasetWriter writer(data, {});
  for (size_t i = 0; i < names.size(); ++i) {
    Clip clip = make_pattern_clip(1, 8, 8, 8, i);
    clip.name = names[i];
    ManifestEntry entry;
    entry.name = names[i], entry.verdict = "kept";
    writer.append(entry, clip, "", tokenize(clip, {}));
  }
  writer.seal();
  const auto exported =
      run_process({ZT_BINARY, "inspect", data, "--export", out, "--play", folder.path() + "/play"});
  ASSERT_EQ(exported.exit_code, 0) << exported.output;
  const nlohmann::json list = json_of(out + "/frames.json").at("clips");
  std::set<std::string> places;
  for (size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(list[i].at("name"), names[i]);
    const std::string place = list[i].at("folder");
    if (names[i].size() < 200) { EXPECT_EQ(place, names[i]); }
    EXPECT_TRUE(fs::exists(out + "/" + place + "/000000.png")) << place;
    EXPECT_TRUE(fs::exists(folder.path() + "/play/" + place + ".mp4")) << place;
    EXPECT_TRUE(fs::exists(folder.path() + "/play/" + place + ".png")) << place;
    places.insert(place);
  }
  EXPECT_EQ(places.size(), names.size());
  for (const char* name : {"../a.mp4", "/a.mp4", "a/../../b.mp4", ""}) EXPECT_THROW(clip_place(name), Error);
}

TEST(Play, WritesMp4AndSheetOfWhatIsTrainedOn) {
  const SmallDataset made;
  const TemporaryFolder folder;
  const auto inspect = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {ZT_BINARY, "inspect", made.folder()});
    return run_process(more);
  };
  const Clip& clip = made.clips()[4];
  const std::string file = folder.path() + "/one.mp4";
  ASSERT_EQ(inspect({"--play", file, "--clip", clip.name}).exit_code, 0);
  const DecodedClip back = read_back(file);
  ASSERT_EQ(back.clip.num_frames, clip.num_frames) << back.refused;
  EXPECT_EQ(back.clip.width, clip.width);
  // Sixteen of 21 frames, four a row, in their own size.
  const DecodedClip sheet = read_back(folder.path() + "/one.png");
  ASSERT_EQ(sheet.clip.width, 4 * (clip.width + kPictureGap) + kPictureGap);
  ASSERT_EQ(sheet.clip.height, 4 * (clip.height + kPictureGap) + kPictureGap);
  const int64_t last_y = 3 * (clip.height + kPictureGap) + kPictureGap,
                last_x = 3 * (clip.width + kPictureGap) + kPictureGap;
  for (int c = 0; c < 3; ++c)
    EXPECT_EQ(sheet.clip.frame(0)[(last_y * sheet.clip.width + last_x) * 3 + c], clip.frame(20)[c]);

  const auto all = inspect({"--play", folder.path() + "/all", "--sheet", folder.path() + "/sheet.png"});
  ASSERT_EQ(all.exit_code, 0) << all.output;
  for (const Clip& each : made.clips())
    EXPECT_EQ(read_back(folder.path() + "/all/" + each.name + ".mp4").clip.num_frames, each.num_frames);
  EXPECT_EQ(read_back(folder.path() + "/sheet.png").refused, "");
  EXPECT_NE(all.output.find("8 of 8 clips"), std::string::npos) << all.output;

  EXPECT_EQ(inspect({"--play", file}).exit_code, 2) << "eight clips, one file";
  EXPECT_EQ(inspect({"--clip", clip.name}).exit_code, 2);
  EXPECT_EQ(inspect({"--sheet", folder.path() + "/sheet.jpg"}).exit_code, 2);
}

}  // namespace
}  // namespace zoetrope
