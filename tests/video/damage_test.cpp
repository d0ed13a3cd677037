// Damaged files: the verdict and the counts of the trap files, sound frames alone, the same bytes for any
// number of workers, and no crash or hang wherever a file is cut or a bit is flipped.
#include <gtest/gtest.h>
#include <cmath>
#include <filesystem>
#include <map>
#include <sstream>

#include "core/files.h"
#include "tests/support/damage.h"
#include "tests/support/media.h"
#include "tests/support/process.h"
#include "tests/support/small_dataset.h"
#include "video/media/decode.h"

namespace zoetrope {
namespace {

namespace fs = std::filesystem;
using testing_support::run_ffmpeg;
using testing_support::TemporaryFolder;
using testing_support::write_text;

class Damage : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  void make(const std::string& words, const std::string& name) const { run_ffmpeg(words + " " + path(name)); }
  void make_source(const std::string& source, const std::string& coding, const std::string& name) const {
    make("-f lavfi -i " + source + " " + coding, name);
  }
  void join(const std::vector<std::string>& parts, const std::string& name) const {
    std::string bytes;
    for (const std::string& part : parts) bytes += read_file(path(part));
    write_text(path(name), bytes);
  }
  static DecodeRules native_rules(double fps) {
    DecodeRules rules;
    rules.fps = fps;
    rules.size = {{1, 1, 1}, 1 << 24, false};
    return rules;
  }
  DecodedClip decode(const std::string& name, double fps = 25) const {
    return decode_file(path(name), native_rules(fps)).at(0);
  }
  static std::string picture(const Clip& clip, int64_t t) {
    return {reinterpret_cast<const char*>(clip.frame(t)), size_t(clip.height * clip.width * 3)};
  }
  TemporaryFolder folder_;
};

TEST_F(Damage, CutFilesKeepWhatIsThere) {
  const std::string source = "testsrc2=s=320x240:r=25:d=4", coding = "-c:v libx264 -g 25";
  make_source(source, coding + " -movflags +faststart", "full.mp4");
  const DecodedClip full = decode("full.mp4");
  ASSERT_EQ(full.clip.num_frames, 100);
  EXPECT_FALSE(full.found_damage);
  make("-i " + path("full.mp4") + " -c copy", "late_index.mp4");
  make("-i " + path("full.mp4") + " -c copy", "full.mkv");
  for (const char* name : {"full.mp4", "late_index.mp4", "full.mkv"})
    fs::resize_file(path(name), fs::file_size(path(name)) / 2);
  for (const char* name : {"full.mp4", "full.mkv"}) {
    const DecodedClip cut = decode(name);
    ASSERT_EQ(cut.refused, "") << name;
    EXPECT_TRUE(cut.found_damage) << name;
    const SourceFacts& facts = cut.facts;
    EXPECT_GT(facts.presented, 30) << name;
    EXPECT_LE(cut.clip.num_frames, facts.decoded) << name;
    EXPECT_LE(facts.decoded, facts.packets) << name;
    EXPECT_LT(facts.packets, 100) << name;
    EXPECT_EQ(facts.first_seconds, 0) << name;
    EXPECT_NEAR(facts.container_duration, 4.0, 0.05) << name << ": the header still promises all";
    for (int64_t t = 0; t < cut.clip.num_frames; ++t)
      ASSERT_TRUE(picture(cut.clip, t) == picture(full.clip, cut.clip.sources[size_t(t)].source_index))
          << name << " frame " << t;
  }
  EXPECT_EQ(decode("full.mp4").facts.declared, 100);
  const DecodedClip no_index = decode("late_index.mp4");
  EXPECT_NE(no_index.refused.find("moov atom not found"), std::string::npos) << no_index.refused;
  EXPECT_TRUE(no_index.found_damage);
}

TEST_F(Damage, NoiseInsidePacketsIsCountedAndNeverTrained) {
  make_source("testsrc2=s=320x240:r=25:d=4", "-c:v libx264 -g 25", "full.mp4");
  make("-i " + path("full.mp4") + " -c copy -bsf:v noise=amount=400", "noise.mp4");
  std::string bytes = read_file(path("full.mp4"));
  testing_support::scramble(bytes, 30, 31);
  write_text(path("spot.mp4"), bytes);
  const DecodedClip full = decode("full.mp4");
  for (const char* name : {"noise.mp4", "spot.mp4"}) {
    const DecodedClip corrupt = decode(name);
    EXPECT_TRUE(corrupt.found_damage) << name;
    EXPECT_EQ(corrupt.facts.declared, 100) << name;
    EXPECT_EQ(corrupt.facts.packets, 100) << name;
    EXPECT_GT(corrupt.facts.damaged, 0) << name;
    EXPECT_GT(corrupt.facts.decoded, 90) << name << ": most come with patched places, which are not used";
    EXPECT_EQ(corrupt.facts.decoded, corrupt.facts.presented) << name;
    EXPECT_LT(corrupt.clip.num_frames, 100) << name;
    const std::string said = corrupt.refused.empty() ? corrupt.cuts.at(0) : corrupt.refused;
    EXPECT_NE(said.find("decode errors"), std::string::npos) << name << ": " << said;
    for (int64_t t = 0; t < corrupt.clip.num_frames; ++t) {
      const int64_t number = std::llround(corrupt.clip.sources[size_t(t)].source_seconds * 25);
      ASSERT_TRUE(picture(corrupt.clip, t) == picture(full.clip, number)) << name << " frame " << t;
    }
    EXPECT_TRUE(decode(name).clip.pixels == corrupt.clip.pixels) << "the same file twice";
  }
  EXPECT_GT(decode("spot.mp4").clip.num_frames, 40);
}

TEST_F(Damage, PatchedPicturesAreNotTrained) {
  for (const char* name : {"p.jpg", "p.gif", "p.tiff", "p.png", "p.webp"}) {
    make_source("testsrc2=s=256x192:r=5", "-frames:v 1 -update 1", name);
    const DecodedClip sound = decode(name);
    EXPECT_EQ(sound.refused, "") << name;
    EXPECT_FALSE(sound.found_damage) << name << ": " << (sound.cuts.empty() ? "" : sound.cuts[0]);
    const std::string whole = read_file(path(name));
    write_text(path("cut-" + std::string(name)), whole.substr(0, whole.size() * 6 / 10));
    const DecodedClip cut = decode("cut-" + std::string(name));
    EXPECT_NE(cut.refused, "") << name;
    EXPECT_TRUE(cut.found_damage) << name << ": " << cut.refused;
  }
  std::string bytes = read_file(path("p.jpg"));
  testing_support::scramble(bytes, 50, 51);
  write_text(path("spot.jpg"), bytes);
  EXPECT_TRUE(decode("spot.jpg").found_damage);
}

TEST_F(Damage, ChangesOfSizeAndFormatWithinAFileAreConvertedAndSaid) {
  make_source("testsrc2=s=320x240:r=25:d=1", "-c:v libx264 -bf 0", "a.h264");
  make_source("testsrc2=s=160x120:r=25:d=1", "-c:v libx264 -bf 0", "b.h264");
  make_source("testsrc2=s=320x240:r=25:d=1", "-c:v libx264 -bf 0 -pix_fmt yuv444p", "c.h264");
  join({"a.h264", "b.h264"}, "sizes.h264");
  join({"a.h264", "c.h264"}, "formats.h264");
  const DecodedClip a = decode("a.h264"), c = decode("c.h264"), sizes = decode("sizes.h264"),
                    formats = decode("formats.h264");
  DecodeRules enlarged = native_rules(25);
  enlarged.size = {{1, 1, 1}, 320 * 240, true};
  const DecodedClip b = decode_file(path("b.h264"), enlarged).at(0);
  ASSERT_EQ(b.clip.width, 320);
  for (const auto& [changed, second] : {std::pair{&sizes, &b}, {&formats, &c}}) {
    ASSERT_EQ(changed->refused, "");
    EXPECT_FALSE(changed->found_damage);
    EXPECT_EQ(changed->facts.presented, 50);
    ASSERT_EQ(changed->clip.num_frames, 50);
    for (int64_t t = 0; t < 25; ++t) {
      ASSERT_TRUE(picture(changed->clip, t) == picture(a.clip, t)) << t;
      ASSERT_TRUE(picture(changed->clip, 25 + t) == picture(second->clip, t)) << t;
    }
  }
  EXPECT_EQ(sizes.facts.size_changes, 1);
  EXPECT_EQ(sizes.facts.format_changes, 0);
  EXPECT_NE(sizes.cuts.at(0).find("320x240 becomes 160x120"), std::string::npos) << sizes.cuts.at(0);
  EXPECT_EQ(formats.facts.size_changes, 0);
  EXPECT_EQ(formats.facts.format_changes, 1);
  EXPECT_NE(formats.cuts.at(0).find("yuv420p"), std::string::npos) << formats.cuts.at(0);
}

TEST_F(Damage, JoinedTransportStreamsKeepTheirOrder) {
  make_source("testsrc2=s=320x240:r=25:d=1", "-c:v libx264", "a.ts");
  make_source("testsrc2=s=160x120:r=25:d=1", "-c:v libx264 -output_ts_offset 1", "b.ts");
  join({"a.ts", "b.ts"}, "joined.ts");
  const DecodedClip joined = decode("joined.ts");
  ASSERT_EQ(joined.refused, "");
  EXPECT_EQ(joined.facts.presented, 50);
  EXPECT_EQ(joined.facts.size_changes, 1);
  double last = -1;
  for (const FrameSource& source : joined.clip.sources) {
    EXPECT_GE(source.source_seconds, last);
    last = source.source_seconds;
  }
}

TEST_F(Damage, AviWithoutPresentationTimesIsSound) {
  make_source("testsrc2=s=320x240:r=25:d=2", "-c:v mpeg4 -bf 2 -g 25", "m4b.avi");
  make_source("testsrc2=s=320x240:r=25:d=2", "-c:v libx264", "full.mp4");
  make("-i " + path("full.mp4") + " -c copy", "full.avi");
  for (const char* name : {"m4b.avi", "full.avi"}) {
    const DecodedClip decoded = decode(name);
    ASSERT_EQ(decoded.refused, "") << name;
    EXPECT_FALSE(decoded.found_damage) << name;
    EXPECT_EQ(decoded.facts.presented, 50) << name;
    ASSERT_EQ(decoded.clip.num_frames, 50) << name;
    for (int64_t t = 0; t < 50; ++t) EXPECT_EQ(decoded.clip.sources[size_t(t)].source_index, t) << name;
  }
}

TEST_F(Damage, LimitsCountPacketsFramesAndBytes) {
  make_source("testsrc2=s=64x64:r=25:d=4", "-c:v libx264 -g 10", "clip.mp4");
  const auto with = [&](auto change) {
    DecodeRules rules = native_rules(25);
    change(rules);
    return decode_file(path("clip.mp4"), rules).at(0);
  };
  EXPECT_NE(with([](DecodeRules& r) { r.limits.max_packets = 99; }).refused.find("--max-packets"),
            std::string::npos);
  EXPECT_NE(with([](DecodeRules& r) { r.limits.max_frames = 99; }).refused.find("--max-frames"),
            std::string::npos);
  EXPECT_NE(with([](DecodeRules& r) { r.limits.max_pixels = 64 * 64 - 1; }).refused.find("--max-pixels"),
            std::string::npos);
  EXPECT_EQ(with([](DecodeRules& r) {
              r.limits = {100, 100, 64 * 64, 1, 1};
            }).clip.num_frames,
            100)
      << "each limit just met";
  const DecodedClip begun = with([](DecodeRules& r) {
    r.limits.max_packets = 60;
    r.max_seconds = 1;
  });
  EXPECT_EQ(begun.refused, "") << "what is wanted came before the limit";
  EXPECT_EQ(begun.clip.num_frames, 25);
  EXPECT_NE(begun.cuts.at(0).find("--max-packets"), std::string::npos) << begun.cuts.at(0);
  EXPECT_FALSE(begun.found_damage);
}

TEST_F(Damage, TheWatchdogGivesNoVerdict) {
  make_source("testsrc2=s=64x64:r=25:d=1", "-c:v libx264", "clip.mp4");
  DecodeRules rules = native_rules(25);
  rules.clip_seconds = 1e-9;
  const DecodedClip late = decode_file(path("clip.mp4"), rules).at(0);
  EXPECT_TRUE(late.undecided);
  EXPECT_NE(late.refused.find("--clip-seconds"), std::string::npos) << late.refused;
}

/// Pictures of the intact file by time, and where their packets end in the file.
struct Intact {
  std::map<int64_t, std::pair<int64_t, std::string>> pictures;  ///< by microseconds: number and picture
  std::map<int64_t, int64_t> starts, ends;
};

int64_t microseconds(double seconds) { return int64_t(seconds * 1e6 + (seconds < 0 ? -0.5 : 0.5)); }

class Random : public Damage {
 protected:
  Intact intact_of(const std::string& name) const {
    Intact intact;
    const DecodedClip decoded = decode(name);
    EXPECT_EQ(decoded.refused, "") << name;
    for (int64_t t = 0; t < decoded.clip.num_frames; ++t)
      intact.pictures[microseconds(decoded.clip.sources[size_t(t)].source_seconds)] = {
          t, picture(decoded.clip, t)};
    std::istringstream lines(testing_support::run_process({"ffprobe", "-loglevel", "quiet", "-select_streams",
                                                           "v:0", "-show_entries", "packet=pts_time,size,pos",
                                                           "-of", "csv=p=0", path(name)})
                                 .output);
    // A packet ends where the next begins: its own size leaves out what the container puts in between.
    std::map<int64_t, int64_t> time_at;
    for (std::string line; std::getline(lines, line);) {
      double time = 0;
      long long size = 0, at = 0;
      if (std::sscanf(line.c_str(), "%lf,%lld,%lld", &time, &size, &at) == 3)
        time_at[at] = microseconds(time);
    }
    for (const auto& [at, time] : time_at) intact.starts[time] = at;
    for (auto at = time_at.begin(); at != time_at.end(); ++at)
      intact.ends[at->second] =
          std::next(at) == time_at.end() ? int64_t(fs::file_size(path(name))) : std::next(at)->first;
    EXPECT_EQ(intact.ends.size(), intact.pictures.size()) << name;
    return intact;
  }

  /// Decodes the bytes; frames whose packets end before `sound_bytes` must be those of the intact file.
  void expect_sound(const std::string& ending, const std::string& bytes, const Intact& intact,
                    int64_t sound_bytes) {
    write_text(path("bad." + ending), bytes);
    const DecodedClip bad = decode("bad." + ending);
    for (int64_t t = 0; t < bad.clip.num_frames; ++t) {
      const int64_t time = microseconds(bad.clip.sources[size_t(t)].source_seconds);
      const auto end = intact.ends.find(time);
      if (end == intact.ends.end() || end->second > sound_bytes) continue;
      // A later frame whose time was damaged may stand in this one's place.
      const auto& [index, expected] = intact.pictures.at(time);
      if (bad.clip.sources[size_t(t)].source_index != index) continue;
      ++compared_;
      ASSERT_TRUE(picture(bad.clip, t) == expected) << "frame " << t << " at " << time;
    }
    if (bad.clip.num_frames == 0) { EXPECT_NE(bad.refused, ""); }
  }
  int64_t compared_ = 0;
};

TEST_F(Random, CutsAndFlippedBitsHarmNothingBeforeThem) {
  const uint64_t seed = testing_support::test_seed();
  SCOPED_TRACE(testing::Message() << "ZT_TEST_SEED=" << seed);
  std::mt19937_64 random(seed);
  make_source("testsrc2=s=96x64:r=25:d=2", "-c:v libx264 -g 12 -bf 2 -movflags +faststart", "whole.mp4");
  make("-i " + path("whole.mp4") + " -c copy", "whole.mkv");
  make("-i " + path("whole.mp4") + " -c copy", "whole.ts");
  make_source("testsrc2=s=96x64:r=25:d=2", "-c:v libvpx -g 12", "whole.webm");
  make_source("testsrc2=s=96x64:r=25:d=2", "-c:v mpeg2video -g 12 -q:v 4 -movflags +faststart", "whole.mov");
  for (const char* ending : {"mp4", "mkv", "ts", "webm", "mov"}) {
    SCOPED_TRACE(ending);
    const std::string whole = read_file(path(std::string("whole.") + ending));
    const Intact intact = intact_of(std::string("whole.") + ending);
    for (int i = 0; i < 25; ++i) {
      const size_t cut = random() % whole.size();
      SCOPED_TRACE(testing::Message() << "cut at " << cut << " of " << whole.size());
      expect_sound(ending, whole.substr(0, cut), intact, int64_t(cut));
    }
    for (int i = 0; i < 25; ++i) {
      std::string bytes = whole;
      size_t first = whole.size();
      for (int flips = 0; flips <= i % 4; ++flips) {
        const size_t at = random() % whole.size();
        testing_support::flip_bit(bytes, at, int(random() % 8));
        first = std::min(first, at);
      }
      SCOPED_TRACE(testing::Message() << "bit flipped at " << first << " of " << whole.size());
      expect_sound(ending, bytes, intact, int64_t(first));
    }
  }
  EXPECT_GT(compared_, 500) << "hardly anything was compared";
}

/// Moves the presentation time that the PES header of a transport stream's packet at `packet` gives.
void move_time(std::string& bytes, int64_t packet, int64_t ticks) {
  const size_t start = bytes.find(std::string("\0\0\1\xe0", 4), size_t(packet));
  ASSERT_NE(start, std::string::npos);
  ASSERT_NE(uint8_t(bytes[start + 7]) & 0x80, 0) << "no presentation time";
  const auto byte = [&](size_t i) { return int64_t(uint8_t(bytes[start + 9 + i])); };
  const int64_t time =
      ((byte(0) >> 1 & 7) << 30 | byte(1) << 22 | byte(2) >> 1 << 15 | byte(3) << 7 | byte(4) >> 1) + ticks;
  const int64_t coded[] = {(byte(0) & 0xf1) | (time >> 30 & 7) << 1, time >> 22 & 255,
                           (time >> 15 & 127) << 1 | 1, time >> 7 & 255, (time & 127) << 1 | 1};
  for (size_t i = 0; i < 5; ++i) bytes[start + 9 + i] = char(uint8_t(coded[i]));
}

// No checksum guards a transport stream's timestamps: what gives a wrong one away is that decoders put
// pictures into the order of presentation.
TEST_F(Random, ATimeThatContradictsThePicturesIsDamage) {
  make_source("testsrc2=s=96x64:r=25:d=2", "-c:v libx264 -g 50 -bf 2 -muxdelay 0", "whole.ts");
  const std::string whole = read_file(path("whole.ts"));
  const Intact intact = intact_of("whole.ts");
  std::map<int64_t, int64_t> packets;  // where each begins: number in order of presentation
  for (const auto& [time, picture_there] : intact.pictures)
    packets[intact.starts.at(time)] = picture_there.first;
  for (int number : {5, 6, 7, 20}) {
    const int64_t at = std::next(packets.begin(), number)->first, shown = packets.at(at);
    for (int64_t frames : {-30, -4, -3, -2, 2, 3, 4, 30, 100000}) {
      if (shown + frames < 0) continue;
      SCOPED_TRACE(testing::Message() << "packet " << number << " moved by " << frames << " frames");
      std::string bytes = whole;
      move_time(bytes, at, frames * 3600);
      write_text(path("bad.ts"), bytes);
      const DecodedClip bad = decode("bad.ts");
      EXPECT_TRUE(bad.found_damage);
      EXPECT_GT(bad.facts.out_of_order, 0);
      for (int64_t t = 0; t < bad.clip.num_frames; ++t) {
        const FrameSource& source = bad.clip.sources[size_t(t)];
        const auto& [index, expected] = intact.pictures.at(microseconds(source.source_seconds));
        ASSERT_TRUE(picture(bad.clip, t) == expected) << "frame " << t;
        ASSERT_EQ(index, t) << "each is shown once";
      }
    }
  }
}

// Encoders write equal times without a fault in the file: where a filter rounds times, ffmpeg passes them on
// (-vsync passthrough) and x264 writes them. Readers show the later picture. So they are counted, and no
// damage.
TEST_F(Damage, PicturesWithOneTimeAreCounted) {
  // 2000 frames per second in Matroska's milliseconds; the rate that a clock can't tell apart.
  make_source("testsrc2=s=96x64:r=2000:d=0.05", "-c:v libx264 -g 50 -bf 2", "fast.mkv");
  make_source("testsrc2=s=96x64:r=25:d=2", "-c:v libx264 -g 50 -bf 2", "reordered.mp4");
  make("-i " + path("reordered.mp4") + " -c copy -bsf:v setts=dts=DTS:pts='if(eq(N,10),PTS+1/(25*TB),PTS)'",
       "both.mp4");
  make_source("testsrc2=s=96x64:r=25:d=2", "-c:v libx264 -g 50 -bf 0", "plain.mkv");
  make("-i " + path("plain.mkv") + " -c copy -bsf:v setts=ts='if(eq(N,10),TS-1/(25*TB),TS)'", "twice.mkv");
  const struct {
    const char* name;
    int64_t presented, twice;
  } files[] = {{"fast.mkv", 100, 49}, {"both.mp4", 50, 1}, {"twice.mkv", 50, 1}, {"plain.mkv", 50, 0}};
  for (const auto& file : files) {
    SCOPED_TRACE(file.name);
    const DecodedClip decoded = decode(file.name);
    EXPECT_FALSE(decoded.found_damage);
    EXPECT_EQ(decoded.facts.presented, file.presented);
    EXPECT_EQ(decoded.facts.out_of_order, file.twice);
  }
  // The later picture stands at the time of both, and none where it should have stood.
  const DecodedClip whole = decode("plain.mkv"), twice = decode("twice.mkv");
  EXPECT_TRUE(picture(twice.clip, 9) == picture(whole.clip, 10));
  EXPECT_TRUE(picture(twice.clip, 10) == picture(whole.clip, 10));
  EXPECT_TRUE(picture(twice.clip, 11) == picture(whole.clip, 11));
}

TEST_F(Random, NoKindOfFileCrashesOrHangs) {
  const uint64_t seed = testing_support::test_seed();
  SCOPED_TRACE(testing::Message() << "ZT_TEST_SEED=" << seed);
  std::mt19937_64 random(seed);
  const std::string source = "testsrc2=s=64x48:r=10:d=1";
  const std::pair<const char*, const char*> kinds[] = {{"x.avi", "-c:v mpeg4 -bf 2"},
                                                       {"x.flv", "-c:v flv"},
                                                       {"x.mpg", "-c:v mpeg2video"},
                                                       {"x.gif", ""},
                                                       {"x.apng", "-f apng"},
                                                       {"x.png", "-frames:v 1 -update 1"},
                                                       {"x.jpg", "-frames:v 1 -update 1"},
                                                       {"x.webp", "-frames:v 1 -c:v libwebp"},
                                                       {"x.bmp", "-frames:v 1 -update 1"},
                                                       {"x.tiff", "-frames:v 1 -update 1"},
                                                       {"x.ogv", "-c:v libtheora"},
                                                       {"x.y4m", ""},
                                                       {"x.mxf", "-c:v mpeg2video -r 25"},
                                                       {"x.nut", "-c:v ffv1"},
                                                       {"x.hevc", "-c:v libx265 -x265-params log-level=none"},
                                                       {"x.mjpeg", "-c:v mjpeg"},
                                                       {"x.wmv", "-c:v wmv2"},
                                                       {"x.ivf", "-c:v libvpx-vp9 -deadline realtime"}};
  for (const auto& [name, coding] : kinds) {
    make_source(source, coding, name);
    EXPECT_EQ(decode(name).refused, "") << name;
    const std::string whole = read_file(path(name));
    const std::string bad_name = "bad-" + std::string(name);
    for (int i = 0; i < 12; ++i) {
      std::string bytes = whole;
      if (i % 2 == 0) bytes.resize(1 + random() % whole.size());
      for (int flips = 0; flips < i; ++flips)
        testing_support::flip_bit(bytes, random() % bytes.size(), int(random() % 8));
      write_text(path(bad_name), bytes);
      const DecodedClip bad = decode(bad_name);
      EXPECT_TRUE(bad.clip.num_frames > 0 || !bad.refused.empty()) << name;
    }
  }
}

}  // namespace
}  // namespace zoetrope
