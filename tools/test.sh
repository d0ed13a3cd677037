#!/usr/bin/env bash
# test.sh [PRESET [CTEST OPTIONS...]]: installs what is missing, builds and runs all tests of a preset (release,
# asan or tsan). Examples: tools/test.sh; tools/test.sh release -L laws; tools/test.sh asan -LE crash
# test.sh mutants [GOOGLETEST OPTIONS...]: plants each fault of tests/cuda/backend_mutants_test.cpp, which guard the
# tests of the CUDA backend, instead; otherwise one of them is planted.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
preset=${1:-release}
[ $# -eq 0 ] || shift
targets=()
[ "$preset" != mutants ] || targets=(--target cuda_backend_mutants_test)
preset=${preset/mutants/release}
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
step "build ($preset)" cmake --build --preset "$preset" -j "$(nproc)" "${targets[@]}"
if [ ${#targets[@]} -gt 0 ]; then
  seq 0 $(($(nproc) - 1)) | ZT_ALL_MUTANTS=1 GTEST_TOTAL_SHARDS=$(nproc) xargs -P "$(nproc)" -I{} \
    env GTEST_SHARD_INDEX={} "build/$preset/tests/cuda_backend_mutants_test" --gtest_brief=1 "$@"
  exit
fi
# As many at a time as there are cores; those that start ranks count for two (tests/CMakeLists.txt).
ctest --preset "$preset" --output-on-failure -j "$(nproc)" "$@"
