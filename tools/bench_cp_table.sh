#!/usr/bin/env bash
# bench_cp_table.sh [STEPS [RANKS...]]: runs `zoetrope bench cp` on the quickstart's data for 2, 4 and 8 ranks, with and without a
# memory cap at which one rank can't hold the longest sample, on links of three speeds, and prints one line for each. sim/meas:
# simulated over measured step, all rows of the cell; order: pairs of rows that the simulation puts in the measured order.
# Needs what tools/quickstart.sh made. All output lies in quickstart/bench/; what is there already is not run again.
set -euo pipefail
cd "$(dirname "$0")/.."
steps=${1:-20}
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- 2 4 8
zoetrope=build/release/zoetrope out=quickstart/bench cap=90000000
[ -d quickstart/data ] || { echo "error: quickstart/data is missing; run tools/quickstart.sh first" >&2; exit 2; }
mkdir -p "$out"
# Ranks that share cores find their caches cold at each turn: only a set measured with as many of them tells what they compute.
cost_of() { if [ "$1" -le "$(nproc)" ]; then echo "--cost quickstart/cost.toml"; fi; }
row='%-5s %-8s %-5s %-11s  %-14s %-14s %-14s %9s %9s %9s %12s %6s\n'
printf "$row" ranks kind cap 'link hides' 'static' 'balanced' 'elastic' 'el/static' 'el/bal.' 'max/mean' 'sim/meas' 'order'
for ranks; do
  for memory in 0 "$cap"; do
    for link in 0 1700 25000; do
      log=$out/ranks$ranks-memory$memory-link$link
      if [ ! -s "$log.txt" ]; then
        "$zoetrope" bench cp --config configs/quickstart.toml --data quickstart/data $(cost_of "$ranks") \
          --ranks "$ranks" --batch $((3 * ranks)) --planner static,static-balanced,elastic --memory-per-rank "$memory" \
          --link-hides "$link" --steps "$steps" --out "$log.json" >"$log.partial" 2>"$log.err" ||
          { tail -n 5 "$log.err" >&2; echo "error: bench cp failed; its output: $log.err" >&2; exit 3; }
        mv "$log.partial" "$log.txt"
      fi
      # the fastest row of each planner: tokens/s (CP size)
      awk -v ranks="$ranks" -v memory="$memory" -v link="$link" -v row="$row" '
        /^(static|static-balanced|elastic) / { if ($8 > best[$1]) { best[$1] = $8; cp[$1] = $2; mean[$1] = $10 } kind = $3 }
        /^simulated \/ measured/ { off = $4 "-" $6 }
        match($0, /order right for [0-9]+ of [0-9]+/) { split(substr($0, RSTART, RLENGTH), word, " "); order = word[4] "/" word[6] }
        END {
          sub(/\*/, "", cp["static"]); sub(/\*/, "", cp["static-balanced"])
          printf row, ranks, kind, memory ? memory / 1000000 " MB" : "none", link ? link : "fast",
            best["static"] " cp " cp["static"], best["static-balanced"] " cp " cp["static-balanced"],
            best["elastic"] " cp " cp["elastic"], sprintf("%.3f", best["elastic"] / best["static"]),
            sprintf("%.3f", best["elastic"] / best["static-balanced"]), mean["elastic"], off, order }' "$log.txt"
    done
  done
done
