#!/usr/bin/env bash
# test.sh [PRESET [CTEST OPTIONS...]]: installs what is missing, builds and runs all tests of a preset (release,
# asan or tsan). Examples: tools/test.sh; tools/test.sh release -L laws; tools/test.sh asan -LE crash
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
preset=${1:-release}
[ $# -eq 0 ] || shift
. tools/deps.sh
deps_install
log=build/$preset.log
mkdir -p build
step() { # NAME COMMAND...: shows the output only when the command fails
  local name=$1 start=$SECONDS; shift
  if ! "$@" >"$log" 2>&1; then tail -n 60 "$log" >&2; echo "error: $name failed; all of its output: $root/$log" >&2; exit 3; fi
  echo "$name: $((SECONDS - start)) s"
}
step "configure ($preset)" cmake --preset "$preset"
sed -n 's/^-- *\(zoetrope .*\|  .*\)$/\1/p' "$log" | grep -v 'Found lib' || true
step "build ($preset)" cmake --build --preset "$preset" -j "$(nproc)"
# As many at a time as there are cores; those that start ranks count for two (tests/CMakeLists.txt).
ctest --preset "$preset" --output-on-failure -j "$(nproc)" "$@"
