#!/usr/bin/env bash
# Builds sten and shows it at work: prunes a checkpoint twice, stores both results compressed,
# takes them back to dense and compares. The files stay in build/quickstart/.
#   scripts/quickstart.sh [CHECKPOINT]     a safetensors file or a checkpoint directory
set -euo pipefail
export LC_ALL=C.UTF-8 # awk reads the measured numbers, whatever the user's decimal point is

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
out=$root/build/quickstart
jobs=${STEN_JOBS:-$(nproc)}

die() {
  echo "quickstart: $1" >&2
  exit "${2:-1}"
}

[[ $# -le 1 && ${1-} != -* ]] || die "usage: scripts/quickstart.sh [CHECKPOINT]" 2
given=${1:-$root/recipes/models/shakespeare-bert/model.safetensors}
[[ -e $given ]] || die "$given: no such file or directory"
model=$(realpath "$given")
[[ $model/ != "$out"/* ]] || die "$given: build/quickstart is emptied first, move it elsewhere"
# A directory around one plain file counts as that file, so that all results are single files.
if [[ -f $model/model.safetensors ]]; then model=$model/model.safetensors; fi
ext=.safetensors
if [[ -d $model ]]; then ext=; fi

bold='' dim='' plain=''
if [[ -t 1 && -z ${NO_COLOR-} ]]; then bold=$'\e[1m' dim=$'\e[2m' plain=$'\e[0m'; fi

# A command as a reader would type it, the checkpoint's long path shortened.
shown() {
  local word line='$'
  for word in "$@"; do
    if [[ $word == "$model" ]]; then word=MODEL; fi
    line+=" $word"
  done
  echo "$dim$line$plain"
}

number=0
# step TITLE COMMAND...: runs it under a heading and says what it took; ends the script if it fails.
step() {
  local title=$1 status=0
  shift
  number=$((number + 1))
  printf '\n%s%d. %s%s\n' "$bold" "$number" "$title" "$plain"
  if [[ $1 == sten-* ]]; then shown "$@"; fi
  /usr/bin/time -q -f '%e %M' -o "$out/took" "$@" || status=$?
  [[ $status -eq 0 ]] || die "step $number failed (exit code $status): $title" "$status"
  if [[ $1 == sten-* ]]; then return; fi # they say so themselves
  awk -v dim="$dim" -v plain="$plain" \
    '{ printf "%s[%.2f s, peak memory %.0f MB]%s\n", dim, $1, $2 * 1024 / 1e6, plain }' "$out/took"
}

build() {
  local log=$out/build.log fresh=()
  if [[ ! -f build/CMakeCache.txt ]]; then
    export CXX=g++ CMAKE_GENERATOR=Ninja
    fresh=(-DCMAKE_BUILD_TYPE=Release)
    # The tests are not built here; without doctest they cannot even be configured.
    if [[ ! -f /usr/include/doctest/doctest.h ]]; then fresh+=(-DSTEN_TESTS=OFF); fi
  fi
  if ! cmake -B build "${fresh[@]}" >"$log" 2>&1; then
    cat "$log" >&2
    return 1
  fi
  local make=(cmake --build build -j "$jobs" --target sten-prune sten-convert sten-energy)
  if [[ -t 1 ]]; then
    "${make[@]}" # Ninja moves one line on a terminal; elsewhere it writes one per file
  elif ! "${make[@]}" >"$log" 2>&1; then
    tail -n 50 "$log" >&2
    return 1
  fi
}

# What follows the header of a safetensors file, whose length its first 8 bytes say.
values_start() { echo $(($(od -An -t u8 --endian=little -N 8 "$1") + 8)); }
same_values() {
  local file
  if [[ -d $1 ]]; then
    for file in "$1"/*.safetensors; do same_values "$file" "$2/${file##*/}" || return; done
  else
    cmp --ignore-initial="$(values_start "$1"):$(values_start "$2")" "$1" "$2"
  fi
}

row() {
  awk -v name="${1##*/}" -v what="$2" -v size="$(du -sb "$1" | cut -f1)" \
    -v whole="$(du -sb "$model" | cut -f1)" \
    'BEGIN { printf "%-28s %10.2f %7.1f %%  %s\n", name, size / 1e6, 100 * size / whole, what }'
}

cd "$root"
rm -rf "$out"
mkdir -p "$out"
echo "MODEL is $model"

# The first step is measured too, so GNU time comes before everything else.
if [[ ! -x /usr/bin/time ]]; then scripts/setup.sh measure || die "GNU time is missing"; fi
step "Install what is missing" scripts/setup.sh build
export -f build
export out jobs
step "Build" bash -euo pipefail -c build

cd "$out"
export PATH=$root/build/bin:$PATH
step "Prune to 90 %, the smallest weights first" \
  sten-prune "$model" -o "pruned$ext" --sparsity 0.9 --summary
step "Prune to the structure 1:10:4" \
  sten-prune "$model" -o "nmg-dense$ext" --structure nmg:n=1,m=10,g=4 --summary
step "Store the first as values and a bitmask" \
  sten-convert "pruned$ext" -o "pruned.bitmask$ext" --to bitmask --summary
step "Store the second as n:m:g" \
  sten-convert "nmg-dense$ext" -o "pruned.nmg$ext" --to nmg:n=1,m=10,g=4 --lossless --summary
step "The energy kept at 90 %" sten-energy "pruned.bitmask$ext" --against "$model"
step "The energy kept by 1:10:4" sten-energy "pruned.nmg$ext" --against "$model"
step "Back to dense, from the bitmask" \
  sten-convert "pruned.bitmask$ext" -o "back.bitmask$ext" --to dense --summary
same_values "pruned$ext" "back.bitmask$ext" || die "the bitmask came back with other values"
step "Back to dense, from n:m:g" \
  sten-convert "pruned.nmg$ext" -o "back.nmg$ext" --to dense --summary
same_values "nmg-dense$ext" "back.nmg$ext" || die "n:m:g came back with other values"
rm took

printf '\n%sAll values came back bit for bit. On disk:%s\n' "$bold" "$plain"
printf '%-28s %10s %9s\n' "in build/quickstart/" MB "of MODEL"
row "$model" "MODEL"
row "pruned$ext" "90 %, dense"
row "pruned.bitmask$ext" "90 %, bitmask"
row "nmg-dense$ext" "1:10:4, dense"
row "pruned.nmg$ext" "1:10:4, n:m:g"
