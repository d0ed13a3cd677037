#!/usr/bin/env bash
# Plants each fault of a list into a copy of its source, builds a test against it and expects the test to fail.
# Usage: tests/cuda/mutants.sh BUILD_DIR TEST LIST [FOLDER]
#   TEST  a built test executable of tests/cuda, such as cuda_attention_test
#   LIST  lines "FILE: TEXT => OTHER TEXT" below FOLDER (model/ops/cuda); TEXT must be there exactly once;
#         a line "@ FILTER" gives the tests that must catch those below it
# Exit code: 0 all caught, 1 some not, 2 a line of the list does not fit its file or does not compile.
set -uo pipefail
[ $# = 3 ] || [ $# = 4 ] || { sed -n '2,7s/^# //p' "$0" >&2; exit 2; }
build=$(realpath "$1") test=$2 list=$(realpath "$3")
cd "$(dirname "$0")/../.."
folder=${4:-model/ops/cuda}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
commands=$(ninja -C "$build" -t commands "tests/$test" | grep -v '^ninja:') || exit 2
link=$(tail -n 1 <<< "$commands")
survivors=0 total=0 filter='*'

# Compiles FILE.cu with the planted copy first on the include path.
compile() {
  local source=$1 command
  command=$(grep -F "zoetrope_cuda_emulated.dir" <<< "$commands" | grep -F -- "/$folder/$source" | head -n 1)
  local from="$PWD/$folder/$source" to="$work/$source.o"
  [ -e "$work/planted/$folder/$source" ] && from="$work/planted/$folder/$source"
  command=$(sed -E "s# -o [^ ]+# -o $to#; s# -MD##; s# -M[TF] [^ ]+##g; s# -Werror##; s# -I# -I$work/planted -I#; s# -c [^ ]+# -c $from#" <<< "$command")
  (cd "$build" && eval "$command") > "$work/compile" 2>&1 || { cat "$work/compile"; return 1; }
  objects+=" $to"
}

while IFS= read -r line; do
  [[ -z $line || $line == \#* ]] && continue
  [[ $line == @* ]] && { filter=${line#@ }; continue; }
  file=${line%%: *} rest=${line#*: }
  old=${rest%% => *} new=${rest#* => }
  text=$(cat "$folder/$file") || exit 2
  without=${text/"$old"/}
  [[ $without != "$text" && $without != *"$old"* ]] || { echo "not exactly once in $file: $old" >&2; exit 2; }
  rm -rf "$work/planted"; mkdir -p "$work/planted/$folder"
  printf '%s\n' "${text/"$old"/"$new"}" > "$work/planted/$folder/$file"
  objects=
  if [[ $file == *.cu || $file == *.cpp ]]; then sources=$file
  else sources=$(cd "$folder" && grep -l "/$file\"" *.cu *.cuh *.h | xargs -I{} sh -c 'case {} in *.cu) echo {};; *) grep -l "/{}\"" *.cu;; esac' | sort -u)
  fi
  for source in $sources; do compile "$source" || exit 2; done
  # The planted objects come before the libraries, whose own then stay out.
  (cd "$build" && eval "$(sed -E "s# -o tests/$test # -o $work/test $objects #" <<< "$link")") > "$work/link" 2>&1 ||
    { cat "$work/link"; exit 2; }
  total=$((total + 1))
  if timeout 120 "$work/test" --gtest_fail_fast --gtest_filter="$filter" > "$work/log" 2>&1; then
    survivors=$((survivors + 1)); echo "NOT CAUGHT  $line"
  else
    echo "caught      $file: $old  ($(grep -c Failure "$work/log") failures)"
  fi
done < "$list"
echo "$((total - survivors)) of $total planted faults caught"
[ "$survivors" = 0 ]
