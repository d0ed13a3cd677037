#!/usr/bin/env bash
# seeds.sh DIR: makes the media seeds anew with the ffmpeg command: each container and codec once, some pixels
# wide and some frames long. Encoders' versions change the bytes, so the seeds of this folder are kept.
set -euo pipefail
out=${1:?DIR}
mkdir -p "$out"
make() { # NAME WORDS...
  local name=$1; shift
  ffmpeg -hide_banner -loglevel error -nostdin -y -bitexact -f lavfi -i testsrc2=s=32x16:r=10 -frames:v 5 "$@" \
    -fflags +bitexact -flags +bitexact "$out/$name"
}
x264="-c:v libx264 -pix_fmt yuv420p -preset ultrafast -x264-params keyint=3:scenecut=0:bframes=1:info=0"
make h264.mp4.bin $x264 -f mp4
make h264_fragments.mp4.bin $x264 -movflags frag_keyframe+empty_moov -f mp4
make h264_rotated.mov.bin $x264 -metadata:s:v:0 rotate=90 -f mov
make h264.mkv.bin $x264 -f matroska
make h264.ts.bin $x264 -f mpegts
make h264.flv.bin $x264 -f flv
make h264.raw.bin $x264 -f h264
make vp8.webm.bin -c:v libvpx -b:v 50k -f webm
make vp9.ivf.bin -c:v libvpx-vp9 -b:v 50k -f ivf
make hevc.mp4.bin -c:v libx265 -preset ultrafast -x265-params log-level=none:info=0 -f mp4
make mpeg4.avi.bin -c:v mpeg4 -bf 1 -q:v 20 -f avi
make mpeg2.mpg.bin -r 25 -c:v mpeg2video -q:v 20 -f mpeg
make theora.ogg.bin -c:v libtheora -f ogg
make wmv2.asf.bin -c:v wmv2 -q:v 20 -f asf
make ffv1.nut.bin -c:v ffv1 -f nut
make mjpeg.bin -c:v mjpeg -q:v 20 -f mjpeg
make gif.bin -f gif
make apng.bin -f apng
make y4m.bin -pix_fmt yuv420p -frames:v 2 -f yuv4mpegpipe
make png.bin -frames:v 1 -c:v png -f image2pipe
make jpeg.bin -frames:v 1 -c:v mjpeg -q:v 20 -f image2pipe
make webp.bin -frames:v 1 -c:v libwebp -f image2pipe
make bmp.bin -frames:v 1 -c:v bmp -f image2pipe
make tiff.bin -frames:v 1 -c:v tiff -f image2pipe
make qoi.bin -frames:v 1 -c:v qoi -f image2pipe
make ppm.bin -frames:v 1 -c:v ppm -f image2pipe
printf '#EXTM3U\n#EXTINF:1,\n/etc/hostname\n' > "$out/playlist.bin"
printf 'ffconcat version 1.0\nfile /etc/hostname\n' > "$out/concat.bin"
