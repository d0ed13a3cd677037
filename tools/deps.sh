# shellcheck shell=bash
# The Debian packages that Zoetrope is built from and tested with, the same names on Debian 12 and 13.
# Sourced by tools/test.sh and tools/quickstart.sh.

deps_list() {
  sed 's/ *#.*//; /^$/d' <<'LIST'
g++                   # C++20: 12 or newer
cmake                 # 3.25 or newer
ninja-build
pkg-config            # finds libav and toml++
libavformat-dev       # containers: reading clips, writing MP4
libavcodec-dev        # decoding and encoding
libavutil-dev
libavfilter-dev       # deinterlacing
libswscale-dev        # RGB to YUV of exported clips
libwebp-dev           # animated WebP
libopencv-core-dev    # colours of frames for scene cuts
libopencv-imgproc-dev
libhdf5-dev           # shards
libdnnl-dev           # matrix products on the CPU (oneDNN)
libopenmpi-dev        # ranks as processes
openmpi-bin           # mpirun
openssh-client        # Open MPI 4.1 looks for it when it starts
libcli11-dev          # command line
libtomlplusplus-dev   # config files
nlohmann-json3-dev    # manifests, plans, reports
libgtest-dev          # tests
ffmpeg                # cuts the quickstart's clips; makes awkward clips for tests
LIST
}

deps_missing() {
  local package
  for package in $(deps_list); do
    dpkg-query -W -f '${db:Status-Abbrev}\n' "$package" 2>/dev/null | grep -q '^.i' || echo "$package"
  done
}

# Installs what is missing; does nothing, and asks for nothing, when nothing is.
deps_install() {
  local missing sudo=""
  missing=$(deps_missing | tr '\n' ' ')
  if [ -z "$missing" ]; then echo "packages: all there"; return; fi
  echo "packages to install: $missing"
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || { echo "error: run as root, or install sudo, or ask an administrator for: apt-get install $missing" >&2; exit 3; }
    sudo=sudo
  fi
  # shellcheck disable=SC2086
  if ! { $sudo apt-get update -qq && $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null; }; then
    echo "error: apt-get could not install: $missing; is this machine online, and is it Debian 12 or 13?" >&2
    exit 3
  fi
}
