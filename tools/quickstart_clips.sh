#!/usr/bin/env bash
# quickstart_clips.sh [FOLDER]: real clips for the quickstart, from two Debian packages.
#
#   FOLDER/downloads      the two packages, fetched once with apt-get download (126 MB) and kept
#   FOLDER/clips          training clips with a caption beside each, and still pictures
#   FOLDER/clips-heldout  held-out clips: later time ranges of the same scenes
#
# forensics-samples-files: one film in four containers and a phone clip with variable frame rate,
# (c) 2019-2020 Joao Eriberto Mota Filho, CC-BY-SA-4.0. opencv-doc: vtest.avi, tree.avi, box.mp4, cup.mp4 of the
# OpenCV project, Apache-2.0. The split is per scene and by time: no training clip reaches a scene's cut time,
# and the four containers of the film are one scene. Same packages, same bytes.
set -euo pipefail
tools=$(cd "$(dirname "$0")" && pwd)
folder=${1:-$tools/../quickstart}
mkdir -p "$folder/downloads"
folder=$(cd "$folder" && pwd)
downloads=$folder/downloads sources=$folder/downloads/sources
stamp=$(cat "$tools/quickstart_clips.sh" "$tools/quickstart_clips.list" | sha256sum | cut -c1-16)

if [ "$(cat "$folder/.clips-made-by" 2>/dev/null)" = "$stamp" ] && [ -d "$folder/clips" ]; then
  echo "clips: $folder/clips is there already"
  exit 0
fi

package_file() { find "$downloads" -maxdepth 1 -name "$1_*.deb" | sort | tail -n 1; }

# One package to downloads/, unless it is there. apt-get download needs no root; as root apt warns that it can't
# drop its rights for a private folder, which is no matter here.
fetch() {
  local found
  found=$(package_file "$1")
  if [ -n "$found" ] && dpkg-deb --info "$found" >/dev/null 2>&1; then return; fi
  rm -f "$downloads/$1"_*.deb
  echo "clips: downloading package $1"
  download() { (cd "$downloads" && apt-get download -qq "$1" 2>"$downloads/$1.log"); }
  # Package lists may be missing or too old; only root can renew them.
  if ! download "$1" && ! { [ "$(id -u)" = 0 ] && apt-get update -qq && download "$1"; }; then
    cat "$downloads/$1.log" >&2
    echo "error: apt-get can't download $1: is this machine online, and has 'apt-get update' been run?" >&2
    exit 3
  fi
  rm -f "$downloads/$1.log"
}

# Only the files that are named here leave the packages.
unpack() {
  local package=$1; shift
  dpkg-deb --fsys-tarfile "$(package_file "$package")" |
    tar -x -C "$sources" --no-same-owner --transform 's|.*/||' --wildcards "$@"
}

fetch forensics-samples-files
fetch opencv-doc
rm -rf "$sources" "$folder"/clips "$folder"/clips-heldout "$folder"/clips*.partial "$folder/.clips-made-by"
mkdir -p "$sources" "$folder/clips.partial" "$folder/clips-heldout.partial"
unpack forensics-samples-files '*/movie1/*.mp4' '*/movie2/movie-hello.*'
unpack opencv-doc '*/vtest.avi' '*/tree.avi' '*/box.mp4.gz' '*/cup.mp4.gz'
gunzip -f "$sources"/*.gz
mv "$sources"/VID_*.mp4 "$sources/phone.mp4"

# The list has one clip a line: split | name with extension | source | start | seconds | filters | caption.
# seconds "frame" takes one picture; filters "copy" keeps the coded stream and its container, "whole" the file.
# As many cuts run at a time as there are cores.
cut_clip() {
  local out=$1 source=$2 start=$3 seconds=$4 filters=$5
  local quiet=(-nostdin -v fatal -y -fflags +bitexact) plain=(-map_metadata -1 -flags +bitexact -fflags +bitexact)
  case $filters:$seconds in
    whole:*) cp "$source" "$out" ;;
    copy:*) ffmpeg "${quiet[@]}" -i "$source" -t "$seconds" -an -c copy "${plain[@]}" "$out" ;;
    *:frame) ffmpeg "${quiet[@]}" -ss "$start" -i "$source" -frames:v 1 -an -vf "$filters" "${plain[@]}" -threads 1 "$out" ;;
    *) ffmpeg "${quiet[@]}" -ss "$start" -i "$source" -t "$seconds" -an -vf "$filters" -c:v libx264 -crf 18 -preset veryfast \
         -pix_fmt yuv420p -threads 1 "${plain[@]}" "$out" ;;
  esac
}

jobs_allowed=$(nproc)
pids=()
finish_oldest() { wait "${pids[0]}" || { echo "error: ffmpeg could not cut a clip" >&2; exit 3; }; pids=("${pids[@]:1}"); }
while IFS='|' read -r split name source start seconds filters caption; do
  case $split in '' | '#'*) continue ;; esac
  case $split in train) to=$folder/clips.partial ;; heldout) to=$folder/clips-heldout.partial ;; *) echo "error: split $split" >&2; exit 3 ;; esac
  mkdir -p "$(dirname "$to/$name")"
  printf '%s\n' "$caption" >"$to/${name%.*}.txt"
  cut_clip "$to/$name" "$sources/$source" "$start" "$seconds" "$filters" &
  pids+=($!)
  if [ ${#pids[@]} -ge "$jobs_allowed" ]; then finish_oldest; fi
done < <(sed 's/ *| */|/g' "$tools/quickstart_clips.list")
while [ ${#pids[@]} -gt 0 ]; do finish_oldest; done

rm -rf "$sources"
mv "$folder/clips-heldout.partial" "$folder/clips-heldout"
mv "$folder/clips.partial" "$folder/clips"
echo "$stamp" >"$folder/.clips-made-by"
count() { find "$1" -type f ! -name '*.txt' | wc -l; }
echo "clips: $(count "$folder/clips") for training in $folder/clips, $(count "$folder/clips-heldout") held out in $folder/clips-heldout"
