#!/usr/bin/env bash
# quickstart.sh: the whole way of the data on this machine, from nothing: packages, build, real clips, data set, cost
# of this machine, a plan, 150 training steps on two ranks, static against elastic planning, a sampled clip, held-out
# loss. Everything it makes lies in quickstart/; running it again starts anew, but keeps downloads and the build.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
out=quickstart
zoetrope=build/release/zoetrope
config=configs/quickstart.toml

stage() { # TITLE COMMAND...: shows the command, runs it, and says how long it took
  local title=$1 start=$SECONDS code=0; shift
  printf '\n== %s\n$ %s\n' "$title" "$(printf '%q ' "$@")"
  "$@" || code=$?
  # Exit code 1: done, but something was refused or found, and the command has said what.
  if [ "$code" -gt 1 ]; then echo "error: '$title' failed with exit code $code" >&2; exit "$code"; fi
  echo "-- $title: $((SECONDS - start)) s"
}

build() {
  mkdir -p build
  local log=build/quickstart.log
  if ! { cmake --preset release && cmake --build --preset release -j "$(nproc)" --target zoetrope; } >"$log" 2>&1; then
    tail -n 60 "$log" >&2
    echo "error: the build failed; all of its output: $root/$log" >&2
    return 3
  fi
  "$zoetrope" --version
}

# 12 s give enough micro-batches on two idle cores; where others use them too, it takes longer to see as many.
with_more_time() { # COMMAND...: once more, with more seconds, when it fails
  "$@" && return
  echo "once more, with five times the time"
  "$@" --seconds 60
}

start=$SECONDS
. tools/deps.sh
stage "packages" deps_install
stage "build" build
stage "real clips from Debian packages" tools/quickstart_clips.sh "$out"
ready=$SECONDS
rm -rf "$out"/data "$out"/data-heldout "$out"/run "$out"/sample.* "$out"/*.json "$out"/cost.toml "$out"/data.html

stage "clips to tokens: training" "$zoetrope" ingest "$out/clips" "$out/data" --fps 8 --area 6144 --max-seconds 5.2 \
  --html "$out/data.html"
stage "clips to tokens: held out" "$zoetrope" ingest "$out/clips-heldout" "$out/data-heldout" --fps 8 --area 6144 --max-seconds 5.2
stage "data set" "$zoetrope" inspect "$out/data"
stage "profile of this machine" with_more_time "$zoetrope" profile --config "$config" --ranks 2 --out "$out/cost.toml"
stage "plan of one step" "$zoetrope" plan --data "$out/data" --ranks 2 --batch 6 --cost "$out/cost.toml"
stage "training" "$zoetrope" train --config "$config" --data "$out/data" --run "$out/run" --ranks 2 --cost "$out/cost.toml"
stage "static against elastic context parallelism" "$zoetrope" bench cp --config "$config" --data "$out/data" --ranks 2 \
  --planner static,static-balanced,elastic --cost "$out/cost.toml" --out "$out/bench.json"
stage "a sampled clip" "$zoetrope" sample --run "$out/run" --out "$out/sample.mp4" --frames 17 --size 96x64 --seed 1 \
  --prompt "people walk across a paved square beside a lawn, seen from a high fixed camera"
stage "held-out loss" "$zoetrope" heldout --run "$out/run" --data "$out/data-heldout" --train-data "$out/data" \
  --out "$out/heldout.json"

cat <<END

== done: $((ready - start)) s for packages, build and clips, $((SECONDS - ready)) s for the rest
clips and captions    $root/$out/clips, clips-heldout
data sets             $root/$out/data, data-heldout
what became of clips  $root/$out/data.html (reasons, histograms, pictures)
cost of this machine  $root/$out/cost.toml
run                   $root/$out/run (metrics.jsonl, tensorboard/, checkpoints/)
planners compared     $root/$out/bench.json
sampled clip          $root/$out/sample.mp4, as a contact sheet $root/$out/sample.png
held-out loss         $root/$out/heldout.json
END
