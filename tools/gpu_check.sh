#!/usr/bin/env bash
# Checks the CUDA backend on this machine's GPUs: see usage() below, or --help.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)

usage() {
  cat <<'TEXT'
tools/gpu_check.sh [OPTIONS]    builds for the GPU that is there, tests and times the CUDA backend on it
tools/gpu_check.sh --pack DIR   gathers what a build needs besides the CUDA toolkit, for --deps elsewhere

Needs a C++20 compiler, CMake 3.25 or newer, make or ninja, the CUDA toolkit, and a driver for it. No network.

  --deps DIR    headers of nlohmann-json and toml++, sources of GoogleTest, as --pack gathered them; without it: as
                installed here
  --cudnn DIR   cuDNN: a folder with include/ and lib/, as the Python wheel nvidia-cudnn-cu13 has in nvidia/cudnn;
                without it: beside the toolkit, else left out
  --nccl DIR    NCCL: likewise, nvidia-nccl-cu13's nvidia/nccl; ranks on several GPUs need it
  --out DIR     where report.txt, report.json and logs go (gpu_check)
  --build DIR   build folder (build/gpu)
  --jobs N      compile N files at a time (all cores)
  --quick       shorter timings
  --no-bench    no timings
  --only REGEX  only tests whose name matches
  --build-only CAPABILITY   builds for e.g. 9.0 and stops: needs no GPU

Packages for --pack (Debian, Ubuntu): nlohmann-json3-dev libtomlplusplus-dev googletest
Exit codes: 0 all passed, 1 a test failed or a timing missed its goal, 2 wrong use, 3 no GPU, driver, toolkit or build.
TEXT
}
fail() { echo "error: $1" >&2; exit "${2:-3}"; }

deps="" cudnn="" nccl="" out=gpu_check build=$root/build/gpu jobs=$(nproc) bench=(full) only=. capability=""
while [ $# -gt 0 ]; do
  case $1 in
    --help) usage; exit 0 ;;
    --quick) bench=(quick --quick); shift ;;
    --no-bench) bench=(); shift ;;
    --pack | --deps | --cudnn | --nccl | --out | --build | --jobs | --only | --build-only)
      [ $# -gt 1 ] || { usage >&2; fail "$1 needs a value" 2; }
      case $1 in
        --pack) pack=$2 ;;
        --deps) deps=$(cd "$2" 2>/dev/null && pwd) || fail "--deps $2: no such folder" 2 ;;
        --cudnn) cudnn=$(cd "$2" 2>/dev/null && pwd) || fail "--cudnn $2: no such folder" 2 ;;
        --nccl) nccl=$(cd "$2" 2>/dev/null && pwd) || fail "--nccl $2: no such folder" 2 ;;
        --out) out=$2 ;;
        --build) build=$2 ;;
        --jobs) jobs=$2 ;;
        --only) only=$2 ;;
        --build-only) capability=$2; build_only=1 ;;
      esac
      shift 2 ;;
    *) usage >&2; fail "unknown argument '$1'" 2 ;;
  esac
done

# --- --pack --------------------------------------------------------------------------------------------
if [ -n "${pack:-}" ]; then
  for each in /usr/include/nlohmann /usr/include/toml++ /usr/src/googletest/googletest; do
    [ -d "$each" ] || fail "$each is not there; install: nlohmann-json3-dev libtomlplusplus-dev googletest"
  done
  mkdir -p "$pack/include"
  cp -r /usr/include/nlohmann /usr/include/toml++ "$pack/include/"
  cp -r /usr/src/googletest "$pack/"
  rm -rf "$pack"/googletest/*/{docs,samples,test} "$pack/googletest/googlemock"
  echo "$pack: $(du -sh "$pack" | cut -f1), for --deps"
  exit 0
fi

# --- what is there -------------------------------------------------------------------------------------
for each in cmake g++; do command -v "$each" >/dev/null || fail "$each was not found: install it"; done
nvcc=${CUDACXX:-$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null || true)}
[ -n "$nvcc" ] || fail "nvcc was found neither on PATH nor in /usr/local/cuda/bin: install the CUDA toolkit, or name it in CUDACXX"
toolkit=$("$nvcc" --version | sed -n 's/.*V\([0-9.]*\)$/\1/p')
mkdir -p "$out/logs"
out=$(cd "$out" && pwd)
results=$out/logs/results.tsv
: >"$results"

# A program that prints name, capability, number of GPUs, MiB and CUDA version of the driver, or why there is none.
build_query() {
  cat >"$out/logs/query.cu" <<'CODE'
#include <cuda_runtime.h>
#include <cstdio>
int main() {
  int count = 0, driver = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  (void)cudaDriverGetVersion(&driver);
  const auto text = [](int v, char* out) { std::snprintf(out, 32, "%d.%d", v / 1000, v % 1000 / 10); return out; };
  char a[32], b[32];
  if (driver == 0) return std::puts("no NVIDIA driver was found on this machine: install one"), 3;
  if (driver / 1000 < CUDART_VERSION / 1000)
    return std::printf("the NVIDIA driver is too old: it supports CUDA %s, the toolkit is %s: update the driver, or use "
                       "an older toolkit (CUDACXX)\n", text(driver, a), text(CUDART_VERSION, b)), 3;
  if (status != cudaSuccess || count == 0)
    return std::printf("the driver offers no GPU (%s): look at nvidia-smi and at CUDA_VISIBLE_DEVICES\n",
                       cudaGetErrorString(status)), 3;
  cudaDeviceProp p{};
  if (cudaGetDeviceProperties(&p, 0) != cudaSuccess) return std::puts("the first GPU can't be asked"), 3;
  if (p.major < 8)
    return std::printf("%s has compute capability %d.%d, the kernels need 8.0 or later\n", p.name, p.major, p.minor), 3;
  std::printf("%s|%d.%d|%d|%zu|%s\n", p.name, p.major, p.minor, count, p.totalGlobalMem >> 20, text(driver, a));
}
CODE
  "$nvcc" -o "$out/logs/query" "$out/logs/query.cu" >"$out/logs/query.log" 2>&1 ||
    { tail -n 20 "$out/logs/query.log" >&2; fail "nvcc does not compile a program of 30 lines; its output is above"; }
}
name="" gpus=0 mib=0 driver_cuda="" driver=""
if [ -z "${build_only:-}" ]; then
  build_query
  answer=$("$out/logs/query") || fail "${answer:-the program that asks for the GPU did not run}"
  IFS='|' read -r name capability gpus mib driver_cuda <<<"$answer"
  driver=$(nvidia-smi --query-gpu=driver_version --format=csv,noheader 2>/dev/null | head -n 1 || true)
fi

# --- build ---------------------------------------------------------------------------------------------
generator="Unix Makefiles"
! command -v ninja >/dev/null || generator=Ninja
start=$SECONDS
configure=(cmake -S "$root" -B "$build" -G "$generator" -DCMAKE_BUILD_TYPE=Release -DZT_GPU_ONLY=ON -DZT_WERROR=OFF
  -DCMAKE_CUDA_COMPILER="$nvcc" -DZT_CUDA_ARCHITECTURES="${capability/./}" -DZT_DEPS="$deps"
  -DZT_CUDNN_ROOT="$cudnn" -DZT_NCCL_ROOT="$nccl")
step() { # NAME COMMAND...: its output goes to logs/NAME.log
  local step=$1; shift
  "$@" >"$out/logs/$step.log" 2>&1 ||
    { grep -nE 'rror|FAILED' "$out/logs/$step.log" | head -n 20 >&2; tail -n 20 "$out/logs/$step.log" >&2
      fail "$step failed; all of its output: $out/logs/$step.log"; }
}
step configure "${configure[@]}"
step build cmake --build "$build" -j "$jobs"
build_seconds=$((SECONDS - start))
echo "built for compute capability $capability in $build_seconds s" >&2
[ -z "${build_only:-}" ] || exit 0

# --- tests: one process each, so that a fault of one can't reach the others ----------------------------
export LD_LIBRARY_PATH="${cudnn:+$cudnn/lib:}${nccl:+$nccl/lib:}$(dirname "$(dirname "$nvcc")")/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export out results
record() { printf '%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$(tr '\t\n' '  ' <<<"$4" | cut -c -300)" >>"$results"; } # STATE NAME SECONDS WHY
run_test() { # PROGRAM TEST
  local log="$out/logs/$(tr '/' '_' <<<"$2").log" start=$EPOCHREALTIME code=0 seconds state why=""
  timeout -k 5 300 "$1" --gtest_filter="$2" --gtest_color=no >"$log" 2>&1 </dev/null || code=$?
  seconds=$(awk -v a="$start" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f", b - a }')
  state=failed
  if [ $code = 124 ]; then why="not done after 300 s"
  elif [ $code -gt 128 ]; then why="ended by signal $((code - 128)): $(tail -n 1 "$log")"
  elif [ $code != 0 ]; then
    why=$(awk '/: Failure$/ { left = 4; sub(/.*\//, "") } /^\[/ { left = 0 } left-- > 0 { printf "%s ", $0 }' "$log")
  elif grep -q '^\[  SKIPPED \]' "$log"; then state="left out" why=$(awk '/: Skipped$/ { getline; print; exit }' "$log")
  elif grep -q '^\[       OK \]' "$log"; then state=passed
  else why="the program has no such test"
  fi
  record "$state" "$2" "$seconds" "$why"
  ! grep -q '^left out: ' "$log" || record "left out" "$2, in part" 0 "$(sed -n 's/^left out: //p' "$log" | sort -u | tr '\n' ';')"
}
export -f record run_test
start=$SECONDS
for program in "$build"/tests/cuda_*_test; do
  if ! tests=$("$program" --gtest_list_tests 2>"$out/logs/list.log" </dev/null); then
    record failed "$(basename "$program")" 0 "does not start: $(tail -n 1 "$out/logs/list.log")"
    continue
  fi
  sed 's/ *#.*//' <<<"$tests" | awk -v program="$program" '/^[^ ].*\.$/ { suite = $1; next } /^  / { print program; print suite $1 }'
done | paste - - | awk -F '\t' -v only="$only" '$2 ~ only { print $1; print $2 }' >"$out/logs/tests.txt"
[ -s "$out/logs/tests.txt" ] || fail "no test matches '$only'" 2
side_by_side=$((jobs > 16 ? 8 : (jobs + 1) / 2))
xargs -d '\n' -n 2 -P "$side_by_side" bash -c 'run_test "$@"' _ <"$out/logs/tests.txt"
test_seconds=$((SECONDS - start))
while IFS=$'\t' read -r what why; do record "left out" "$what" 0 "$why"; done <"$build/left_out.tsv"

# --- timings -------------------------------------------------------------------------------------------
bench_program=$(ls "$build/tools/gpu/zoetrope_gpu_bench" 2>/dev/null || true)
timings=$out/logs/timings.txt
: >"$timings"
rm -f "$out/timings.json"
if [ ${#bench[@]} = 0 ]; then record "left out" timings 0 "--no-bench"
elif [ -z "$bench_program" ]; then record "left out" timings 0 "the tree has no program zoetrope_gpu_bench"
else
  start=$SECONDS code=0
  "$bench_program" "${bench[@]:1}" --json "$out/timings.json" >"$timings" 2>"$out/logs/timings.log" || code=$?
  case $code in
    0) record passed "timings, ${bench[0]}" $((SECONDS - start)) "" ;;
    1) record failed "timings, ${bench[0]}" $((SECONDS - start)) "a goal was missed, see the table" ;;
    *) record failed "timings, ${bench[0]}" $((SECONDS - start)) "ended with $code: $(tail -n 1 "$out/logs/timings.log")" ;;
  esac
fi

# --- the table -----------------------------------------------------------------------------------------
count() { awk -F '\t' -v state="$1" '$1 == state { n++ } END { print n + 0 }' "$results"; }
found() { sed -n "s/^-- *$1  *//p" "$out/logs/configure.log" | tail -n 1; }
commit=$(git -C "$root" describe --always --dirty 2>/dev/null || echo unknown)
date=$(date -u '+%Y-%m-%d %H:%M UTC')
compiler=$(g++ --version | head -n 1)
rows() { # STATE: name and reason of each
  awk -F '\t' -v state="$1" '$1 == state { printf "  %-60s %s\n", $2, $4 }' "$results" | sort
}
{
  echo "zoetrope on a GPU, $date, source $commit"
  echo "device    $gpus x $name, compute capability $capability, $((mib / 1024)) GiB"
  echo "driver    ${driver:-version unknown} (CUDA $driver_cuda)"
  echo "toolkit   CUDA $toolkit, $compiler, $(uname -m), $(nproc) cores"
  echo "cuDNN     $(found cuDNN)"
  echo "NCCL      $(found NCCL)"
  echo "build     $build_seconds s"
  echo "tests     $(count passed) passed, $(count failed) failed, $(count 'left out') left out, $test_seconds s"
  for state in failed "left out"; do [ "$(count "$state")" = 0 ] || { echo; echo "$state"; rows "$state"; }; done
  [ ! -s "$timings" ] || { echo; cat "$timings"; }
} >"$out/report.txt"
json() { printf '"%s"' "$(tr -d '\000-\037' <<<"$1" | sed 's/\\/\\\\/g; s/"/\\"/g')"; }
{
  printf '{"version":1,"date":%s,"source":%s,' "$(json "$date")" "$(json "$commit")"
  printf '"device":{"name":%s,"count":%s,"compute_capability":%s,"mib":%s},' "$(json "$name")" "$gpus" "$(json "$capability")" "$mib"
  printf '"driver":{"version":%s,"cuda":%s},' "$(json "$driver")" "$(json "$driver_cuda")"
  printf '"toolkit":{"cuda":%s,"compiler":%s,"cudnn":%s,"nccl":%s},' "$(json "$toolkit")" "$(json "$compiler")" \
    "$(json "$(found cuDNN)")" "$(json "$(found NCCL)")"
  printf '"build_seconds":%s,"test_seconds":%s,"passed":%s,"failed":%s,"left_out":%s,\n"rows":[' "$build_seconds" \
    "$test_seconds" "$(count passed)" "$(count failed)" "$(count 'left out')"
  between=""
  while IFS=$'\t' read -r state what seconds why; do
    printf '%s\n{"state":%s,"name":%s,"seconds":%s,"why":%s}' "$between" "$(json "$state")" "$(json "$what")" "$seconds" "$(json "$why")"
    between=,
  done <"$results"
  printf '],\n"timings":'
  if [ -s "$out/timings.json" ]; then cat "$out/timings.json"; else printf null; fi
  echo "}"
} >"$out/report.json"
cat "$out/report.txt"
[ "$(count failed)" = 0 ] || exit 1
