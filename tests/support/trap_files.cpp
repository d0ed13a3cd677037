#include "tests/support/trap_files.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "core/check.h"
#include "core/content_hash.h"
#include "tests/support/process.h"

namespace zoetrope::testing_support {
namespace {

namespace fs = std::filesystem;

const std::vector<TrapFile> kTrapFiles = {
    {"t01.mp4", "FF -f lavfi -i testsrc2=s=64x64:r=16 -frames:v 49 -c:v libx264 OUT"},
    {"t01.mkv", "FF -i t01.mp4 -c copy OUT", {"t01.mp4"}},
    {"vfr.mp4",
     "FF -f lavfi -i testsrc2=s=160x120:r=30:d=3 -vf \"select='lt(n,30)+not(mod(n,3))'\" -fps_mode vfr "
     "-c:v libx264 -bf 2 OUT"},
    {"vfr.mkv", "FF -i vfr.mp4 -c copy OUT", {"vfr.mp4"}},
    {"nonzero_start.mp4", "FF -f lavfi -i testsrc2=s=96x64:r=25:d=2 -output_ts_offset 10 -c:v libx264 OUT"},
    {"start14.ts", "FF -f lavfi -i testsrc2=s=96x64:r=25:d=2 -c:v libx264 -g 10 OUT"},
    {"wrap.ts",  // 2^33 ticks of 90 kHz are 95443.718 s
     "FF -f lavfi -i testsrc2=s=64x64:r=25:d=3 -c:v libx264 -bf 2 -g 12 -output_ts_offset 95442.2 OUT"},
    {"wrap.mpg",
     "FF -f lavfi -i testsrc2=s=64x64:r=25:d=3 -c:v mpeg2video -bf 2 -g 12 -output_ts_offset 95442.2 OUT"},
    {"negative.mp4",
     "FF -f lavfi -i testsrc2=s=64x64:r=25:d=2 -c:v libx264 -bf 2 -g 10 -output_ts_offset -0.5 "
     "-avoid_negative_ts disabled OUT"},
    {"t04src.mp4",
     "FF -f lavfi -i testsrc2=duration=1.2:size=64x64:rate=25 -c:v libx264 -pix_fmt yuv420p -g 10 "
     "-keyint_min 10 -sc_threshold 0 OUT"},
    {"elst.mp4", "FF -ss 0.2 -i t04src.mp4 -c copy OUT", {"t04src.mp4"}},
    {"elst_long.mp4",  // edit list and many groups: the first key frame is a DISCARD packet
     "FF -f lavfi -i testsrc2=s=64x64:r=25:d=8 -c:v libx264 -g 10 -keyint_min 10 -sc_threshold 0 "
     "src.tmp.mp4 "
     "&& FF -ss 0.2 -i src.tmp.mp4 -c copy OUT"},
    {"hevc161.mp4",
     "FF -f lavfi -i testsrc2=s=64x64:r=10:d=16.1 -c:v libx265 -x265-params keyint=3:crf=0:log-level=none "
     "OUT"},
    {"d265.mp4",
     "FF -f lavfi -i testsrc2=s=96x64:r=25:d=4 -c:v libx265 -x265-params keyint=25:log-level=none OUT"},
    {"opengop264.mp4",
     "FF -f lavfi -i testsrc2=s=96x64:r=25:d=4 -c:v libx264 -x264-params "
     "open-gop=1:keyint=25:min-keyint=25:bframes=3:scenecut=0 OUT"},
    {"h179.mp4",
     "FF -f lavfi -i testsrc2=s=128x128:r=10:d=1 -c:v libx265 -g 2 -crf 10 -x265-params log-level=none "
     "OUT"},
    {"opengop264.mkv", "FF -i opengop264.mp4 -c copy OUT", {"opengop264.mp4"}},
    {"d265.mkv", "FF -i d265.mp4 -c copy OUT", {"d265.mp4"}},
    {"og264.ts", "FF -i opengop264.mp4 -c copy OUT", {"opengop264.mp4"}},
    {"og265.ts", "FF -i d265.mp4 -c copy OUT", {"d265.mp4"}},
    {"fragments.mp4",
     "FF -i opengop264.mp4 -c copy -movflags frag_keyframe+empty_moov+default_base_moof OUT",
     {"opengop264.mp4"}},
    {"refresh.mp4",  // no key frame but the first: rows of intra blocks wander over the picture
     "FF -f lavfi -i testsrc2=s=96x64:r=25:d=4 -c:v libx264 -x264-params intra-refresh=1:keyint=25 OUT"},
    {"refresh.ts", "FF -i refresh.mp4 -c copy OUT", {"refresh.mp4"}},
    {"nodur.webm", "FF -f lavfi -i testsrc2=s=96x64:r=25:d=2 -c:v libvpx -g 10 -f webm - | cat > OUT"},
    {"nodur.mkv", "FF -f lavfi -i testsrc2=s=96x64:r=25:d=2 -c:v libx264 -f matroska - | cat > OUT"},
    {"altref.webm",  // pictures that are never shown, in packets of their own
     "FF -f lavfi -i testsrc2=s=96x64:r=25:d=4 -c:v libvpx -auto-alt-ref 1 -lag-in-frames 16 -g 25 -b:v "
     "300k "
     "-pass 1 -passlogfile altref.log -f null - && FF -f lavfi -i testsrc2=s=96x64:r=25:d=4 -c:v libvpx "
     "-auto-alt-ref 1 -lag-in-frames 16 -g 25 -b:v 300k -pass 2 -passlogfile altref.log OUT"},
    {"vp9.webm",
     "FF -f lavfi -i testsrc2=s=96x64:r=25:d=4 -c:v libvpx-vp9 -auto-alt-ref 1 -lag-in-frames 16 -g 20 "
     "-cpu-used 8 OUT"},
    {"av1.mp4", "FF -f lavfi -i testsrc2=s=96x64:r=25:d=2 -c:v libaom-av1 -cpu-used 8 -g 12 OUT"},
    {"x264.flv", "FF -f lavfi -i testsrc2=s=96x64:r=25:d=4 -c:v libx264 -g 20 OUT"},
    {"theora.ogg", "FF -f lavfi -i testsrc2=s=96x64:r=25:d=2 -c:v libtheora -g 12 OUT"},
    {"mjpeg.mov", "FF -f lavfi -i testsrc2=s=96x64:r=25:d=4 -c:v mjpeg OUT"},
    {"full.mp4", "FF -f lavfi -i testsrc2=s=160x120:r=25:d=4 -c:v libx264 -g 25 -movflags +faststart OUT"},
    {"full_end.mp4", "FF -f lavfi -i testsrc2=s=160x120:r=25:d=4 -c:v libx264 -g 25 OUT"},
    {"full.mkv", "FF -i full.mp4 -c copy OUT", {"full.mp4"}},
    {"trunc_faststart.mp4", "head -c $(( $(stat -c %s full.mp4) / 2 )) full.mp4 > OUT", {"full.mp4"}, false},
    {"trunc_nomoov.mp4",
     "head -c $(( $(stat -c %s full_end.mp4) / 2 )) full_end.mp4 > OUT",
     {"full_end.mp4"},
     false},
    {"trunc.mkv", "head -c $(( $(stat -c %s full.mkv) / 2 )) full.mkv > OUT", {"full.mkv"}, false},
    {"a.h264", "FF -f lavfi -i testsrc2=s=160x120:r=25:d=1 -c:v libx264 OUT"},
    {"b.h264", "FF -f lavfi -i testsrc2=s=80x60:r=25:d=1 -c:v libx264 OUT"},
    {"reschange.h264", "cat a.h264 b.h264 > OUT", {"a.h264", "b.h264"}},
    {"a.ts", "FF -f lavfi -i testsrc2=s=160x120:r=25:d=1 -c:v libx264 OUT"},
    {"b.ts", "FF -f lavfi -i testsrc2=s=80x60:r=25:d=1 -c:v libx264 -output_ts_offset 1 OUT"},
    {"b0.ts", "FF -f lavfi -i testsrc2=s=160x120:r=25:d=1 -c:v libx264 OUT"},
    {"reschange.ts", "cat a.ts b.ts > OUT", {"a.ts", "b.ts"}, false},
    {"restart.ts", "cat a.ts b0.ts > OUT", {"a.ts", "b0.ts"}, false},
    {"a.mpg", "FF -f lavfi -i testsrc2=s=160x120:r=25:d=1 -c:v mpeg2video -bf 2 OUT"},
    {"restart.mpg", "cat a.mpg a.mpg > OUT", {"a.mpg"}, false},
    {"late.mpg",
     "FF -f lavfi -i testsrc2=s=160x120:r=25:d=1 -c:v mpeg2video -bf 2 -output_ts_offset 300 OUT"},
    {"restart_earlier.mpg",  // by more than the minute after which libavformat assumes a wrap of the clock
     "cat late.mpg a.mpg > OUT",
     {"late.mpg", "a.mpg"},
     false},
    {"raw.hevc", "FF -f lavfi -i testsrc2=s=64x64:r=30:d=1 -c:v libx265 -x265-params log-level=none OUT"},
    {"raw.m2v", "FF -f lavfi -i testsrc2=s=64x64:r=25:d=1 -c:v mpeg2video -bf 2 OUT"},
    {"raw.m4v", "FF -f lavfi -i testsrc2=s=64x64:r=30:d=1 -c:v mpeg4 -bf 2 OUT"},
    {"raw.ivf", "FF -f lavfi -i testsrc2=s=64x64:r=30:d=1 -c:v libvpx OUT"},
    {"m4b.avi", "FF -f lavfi -i testsrc2=s=96x64:r=25:d=2 -c:v mpeg4 -bf 2 -g 25 -q:v 2 OUT"},
    {"full.avi", "FF -i full.mp4 -c copy OUT", {"full.mp4"}},
    {"odd_vp9.mp4",
     "FF -f lavfi -i testsrc2=s=400x300:r=10:d=1 -vf format=yuv444p,crop=321:241:0:0 -c:v libvpx-vp9 "
     "-cpu-used 8 -pix_fmt yuv420p OUT"},
    {"odd444.mp4",
     "FF -f lavfi -i testsrc2=s=400x300:r=10:d=1 -vf format=yuv444p,crop=321:241:0:0 -c:v libx264 OUT"},
    {"w500.mp4", "FF -f lavfi -i testsrc2=s=500x500:r=10:d=1 -c:v libx264 OUT"},
    {"crop.mp4",
     "FF -f lavfi -i testsrc2=s=320x240:r=10:d=1 -c:v libx264 -bsf:v "
     "h264_metadata=crop_right=20:crop_bottom=10 OUT"},
    {"ilace.mp4",
     "FF -f lavfi -i testsrc2=s=180x144:r=50:d=1 -vf tinterlace=interleave_top,fieldorder=tff -c:v libx264 "
     "-flags +ilme+ildct -x264-params tff=1 OUT"},
    {"progressive.mp4", "FF -f lavfi -i testsrc2=s=180x144:r=25:d=1 -c:v libx264 OUT"},
    {"ilace.mpg",
     "FF -f lavfi -i testsrc2=s=180x144:r=50:d=1 -vf tinterlace=interleave_top,fieldorder=tff -c:v "
     "mpeg2video -flags +ilme+ildct -top 1 OUT"},
    {"opengop.mpg", "FF -f lavfi -i testsrc2=s=96x64:r=25:d=3 -c:v mpeg2video -bf 2 -g 12 -q:v 4 OUT"},
    {"mp2.ts", "FF -f lavfi -i testsrc2=s=96x64:r=25:d=3 -c:v mpeg2video -bf 2 -g 12 -q:v 4 OUT"},
    {"gop150.mp4",
     "FF -f lavfi -i testsrc2=duration=10:size=320x180:rate=30 -c:v libx264 -g 150 -preset veryfast OUT"},
    {"gop150.mkv", "FF -i gop150.mp4 -c copy OUT", {"gop150.mp4"}},
    {"anim_vdelay.gif",  // GIF's own time base and last delay, since FFmpeg 5 and 7 derive different ones
     "FF -f lavfi -i testsrc2=s=64x64:r=10:d=1 -vf \"settb=1/100,setpts='if(lt(N,5),N*10,50+(N-5)*30)'\" "
     "-fps_mode passthrough -final_delay 40 OUT"},
    {"anim.png",
     "FF -f lavfi -i testsrc2=s=64x64:r=10:d=1 -vf "
     "\"format=rgb24,settb=1/100,setpts='if(lt(N,5),N*10,50+(N-5)*30)'\" "
     "-fps_mode passthrough -plays 0 -final_delay 0.4 -f apng OUT"},
    {"anim.webp",  // the same pictures, lossless too
     "FF -f lavfi -i testsrc2=s=64x64:r=10:d=1 -vf "
     "\"format=rgb24,settb=1/100,setpts='if(lt(N,5),N*10,50+(N-5)*30)'\" "
     "-fps_mode passthrough -c:v libwebp_anim -pix_fmt bgra -lossless 1 -loop 0 OUT",
     {},
     false},  // FFmpeg can't read it
    {"telecine.mpg",
     "FF -f lavfi -i testsrc2=s=176x144:r=24000/1001:d=1 -vf telecine -c:v mpeg2video -flags +ilme+ildct "
     "OUT"},
    {"cover.png", "FF -f lavfi -i testsrc2=s=96x64:r=25 -frames:v 1 -update 1 OUT"},
    {"cover.mp3",
     "FF -f lavfi -i sine=d=2 -i cover.png -map 0 -map 1 -c:a libmp3lame -c:v copy -disposition:v:0 "
     "attached_pic OUT",
     {"cover.png"},
     false},
    {"video_plus_cover.mp4",
     "FF -i t04src.mp4 -i cover.png -map 0:v -map 1 -c copy -disposition:v:1 attached_pic OUT",
     {"t04src.mp4", "cover.png"}},
    {"audio_only.mp4", "FF -f lavfi -i sine=d=2 -c:a aac OUT", {}, false},
};

/// Folder of the files that these commands and this ffmpeg make.
const std::string& cache() {
  static const std::string folder = [] {
    std::string all = run_process({"ffmpeg", "-version"}).output;
    for (const TrapFile& file : trap_files()) all += join_message('\n', file.name, ' ', file.command);
    std::string out = fs::path(ZT_BINARY).parent_path() / "test_media" / content_hash(all).substr(0, 16);
    fs::create_directories(out);
    return out;
  }();
  return folder;
}

}  // namespace

const std::vector<TrapFile>& trap_files() { return kTrapFiles; }

std::string trap_file(const std::string& name) {
  const std::string path = cache() + "/" + name;
  if (fs::exists(path)) return path;
  const auto file = std::find_if(trap_files().begin(), trap_files().end(),
                                 [&](const TrapFile& f) { return f.name == name; });
  ZT_CHECK(file != trap_files().end(), "no trap file ", name);
  // Tests run as processes side by side: each makes its own, and the name appears when the file is whole.
  const std::string own = join_message(cache(), "/.making-", getpid(), "-", name);
  fs::create_directories(own);
  for (const char* needed : file->needs) fs::copy_file(trap_file(needed), own + "/" + needed);
  std::string command = file->command;
  for (const auto& [word, meaning] :
       {std::pair<std::string, std::string>{"FF ", "ffmpeg -hide_banner -loglevel error -nostdin -y "},
        {"OUT", name}})
    for (size_t at = 0; (at = command.find(word, at)) != std::string::npos; at += meaning.size())
      command.replace(at, word.size(), meaning);
  const Finished made = run_process({"sh", "-c", "cd '" + own + "' && " + command});
  ZT_CHECK(made.exit_code == 0, command, " ended with ", made.exit_code, ":\n", made.output);
  fs::rename(own + "/" + name, path);
  fs::remove_all(own);
  return path;
}

std::string real_clips_folder() { return std::string(ZT_SOURCE_DIR) + "/quickstart/real-clips"; }

}  // namespace zoetrope::testing_support
