#!/usr/bin/env bash
# real_clips.sh [FOLDER]: real clips for tests/video/frame_exact_test.cpp, from Debian packages that are fetched
# once and not installed (42 MB). Names what can't be fetched, and goes on.
#
#   FOLDER            the clips; default quickstart/real-clips
#   FOLDER/.packages  the packages; forensics-samples-files is shared with the quickstart
#
# forensics-samples-files: one film in four containers and a phone clip of variable rate, CC-BY-SA-4.0.
# python3-imageio (Debian 12): cockatoo.mp4, realshort.mp4, newtonscradle.gif, BSD-2-Clause. gnome-user-docs: a
# rendered animation in WebM without a duration, CC-BY-SA-3.0.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
folder=${1:-$root/quickstart/real-clips}
mkdir -p "$folder/.packages"
folder=$(cd "$folder" && pwd)

# package_file NAME: the package on disk, fetched when it isn't there.
package_file() {
  local found=""
  found=$(find "$folder/.packages" "$root/quickstart/downloads" -maxdepth 1 -name "$1_*.deb" 2>/dev/null | sort | tail -n 1)
  if [ -z "$found" ]; then
    (cd "$folder/.packages" && apt-get download -qq "$1" >/dev/null 2>&1) || return 1
    found=$(find "$folder/.packages" -maxdepth 1 -name "$1_*.deb" | sort | tail -n 1)
  fi
  echo "$found"
}

# clips PACKAGE CLIP...: patterns of paths within the package; their files go to FOLDER.
clips() {
  local package=$1 file pattern missing=0; shift
  for pattern in "$@"; do [ -n "$(find "$folder" -maxdepth 1 -name "${pattern##*/}" -print -quit)" ] || missing=1; done
  if [ $missing = 0 ]; then return; fi
  if ! file=$(package_file "$package"); then
    echo "real clips: package $package can't be fetched (offline, or package lists too old); its clips are not tested"
    return
  fi
  for pattern in "$@"; do
    dpkg-deb --fsys-tarfile "$file" |
      tar -x -C "$folder" --no-same-owner --transform 's|.*/||' --wildcards "*/$pattern" 2>/dev/null ||
      echo "real clips: no ${pattern##*/} in $(basename "$file"); it is not tested"
  done
}

clips forensics-samples-files movie1/VID_20191220_170832.mp4 movie2/movie-hello.mp4 movie2/movie-hello.avi \
  movie2/movie-hello.mpeg movie2/movie-hello.ogg
clips python3-imageio cockatoo.mp4 realshort.mp4 newtonscradle.gif
clips gnome-user-docs C/gnome-help/figures/display-dual-monitors.webm
echo "real clips: $(find "$folder" -maxdepth 1 -type f | wc -l) in $folder"
