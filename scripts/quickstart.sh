#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds sten and demonstrates it: prunes a checkpoint to two structures, stores both results in
# sparse layouts, converts them back to dense and compares. Then runs the shipped model, fine-tunes
# it at two structures, and prints accuracy, size and speed. The files stay in build/quickstart/.
#   scripts/quickstart.sh [CHECKPOINT]     a safetensors file or a checkpoint directory
set -euo pipefail
export LC_ALL=C.UTF-8 # awk must read the measured numbers in any locale of the user

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
out=$root/build/quickstart
jobs=${STEN_JOBS:-$(nproc)}

die() {
  echo "quickstart: $1" >&2
  exit "${2:-1}"
}

[[ $# -le 1 && ${1-} != -* ]] || die "usage: scripts/quickstart.sh [CHECKPOINT]" 2
bert=$root/recipes/models/shakespeare-bert
given=${1:-$bert/model.safetensors}
[[ -e $given ]] || die "$given: no such file or directory"
model=$(realpath "$given")
[[ $model/ != "$out"/* ]] || die "$given: build/quickstart is emptied first, move it elsewhere"
# A directory around one plain file counts as that file, so that all results are single files.
if [[ -f $model/model.safetensors ]]; then model=$model/model.safetensors; fi
ext=.safetensors
if [[ -d $model ]]; then ext=; fi

bold='' dim='' plain=''
if [[ -t 1 && -z ${NO_COLOR-} ]]; then bold=$'\e[1m' dim=$'\e[2m' plain=$'\e[0m'; fi

# Prints a command as a user would type it, with the long path of the checkpoint shortened.
shown() {
  local word line='$'
  for word in "$@"; do
    if [[ $word == "$model" ]]; then word=MODEL; fi
    if [[ $word == *' '* ]]; then word="'$word'"; fi
    line+=" $word"
  done
  echo "$dim$line$plain"
}

number=0
# step TITLE COMMAND...: runs COMMAND under a heading and prints its time and memory. A failure ends
# the script.
step() {
  local title=$1 status=0
  shift
  number=$((number + 1))
  printf '\n%s%d. %s%s\n' "$bold" "$number" "$title" "$plain"
  if [[ $1 == sten-* ]]; then shown "$@"; fi
  /usr/bin/time -q -f '%e %M' -o "$out/took" "$@" || status=$?
  [[ $status -eq 0 ]] || die "step $number failed (exit code $status): $title" "$status"
  if [[ $1 == sten-* ]]; then return; fi # the sten programs print time and memory themselves
  awk -v dim="$dim" -v plain="$plain" \
    '{ printf "%s[%.2f s, peak memory %.0f MB]%s\n", dim, $1, $2 * 1024 / 1e6, plain }' "$out/took"
}

# Prints one line per tenth of Ninja's steps; on a terminal, updates a single line. (Not in awk, because
# some versions buffer their input.)
progress() { # progress TERMINAL
  local line tenths=0
  while IFS= read -r line; do
    [[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]] || continue
    line="${BASH_REMATCH[1]} of ${BASH_REMATCH[2]} steps"
    if [[ $1 ]]; then
      printf '\r%s' "$line"
    elif ((10 * BASH_REMATCH[1] / BASH_REMATCH[2] > tenths)); then
      tenths=$((10 * BASH_REMATCH[1] / BASH_REMATCH[2]))
      echo "$line"
    fi
  done
  if [[ $1 ]]; then echo; fi
}
build() { # build PROGRAM...
  local log=$out/build.log fresh=() terminal=
  if [[ ! -f build/CMakeCache.txt ]]; then
    export CXX=g++ CMAKE_GENERATOR=Ninja
    fresh=(-DCMAKE_BUILD_TYPE=Release -DSTEN_UNITY=ON)
    # The tests are not built here; without doctest they cannot even be configured.
    if [[ ! -f /usr/include/doctest/doctest.h ]]; then fresh+=(-DSTEN_TESTS=OFF); fi
    # CUDA kernels take a while to compile, and are useless without a GPU.
    if ! nvidia-smi -L >/dev/null 2>&1; then fresh+=(-DSTEN_CUDA=OFF); fi
  fi
  if ! cmake -B build "${fresh[@]}" >"$log" 2>&1; then
    cat "$log" >&2
    return 1
  fi
  if [[ -t 1 ]]; then terminal=1; fi
  if ! cmake --build build -j "$jobs" --target "$@" 2>&1 | tee "$log" | progress "$terminal"; then
    tail -n 50 "$log" >&2
    return 1
  fi
}

# The offset of the data in a safetensors file. The first 8 bytes are the length of the header.
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
export -f build progress
export out jobs PATH=$root/build/first:$root/build/bin:$PATH
# build_step TITLE PROGRAM...: builds the programs just before they are shown.
build_step() {
  local title=$1
  shift
  cd "$root"
  step "$title" bash -euo pipefail -c 'build "$@"' build "$@"
  cd "$out"
}
# Pruning without training does not need the half of the library that trains.
build_step "Build the part of sten-prune that prunes without training" sten-prune-first
step "Prune the smallest 90 % of the weights" \
  sten-prune "$model" -o "pruned$ext" --sparsity 0.9 --summary
step "Prune to the structure 1:10:4" \
  sten-prune "$model" -o "nmg-dense$ext" --structure nmg:n=1,m=10,g=4 --summary
build_step "Build the library, sten-convert, sten-energy and all of sten-prune" \
  sten-prune sten-convert sten-energy
step "Store the 90 % model as a bitmask" \
  sten-convert "pruned$ext" -o "pruned.bitmask$ext" --to bitmask --summary
step "Store the 1:10:4 model as n:m:g" \
  sten-convert "nmg-dense$ext" -o "pruned.nmg$ext" --to nmg:n=1,m=10,g=4 --lossless --summary
step "Energy of the 90 % model" sten-energy "pruned.bitmask$ext" --against "$model"
step "Energy of the 1:10:4 model" sten-energy "pruned.nmg$ext" --against "$model"
step "Convert the bitmask back to dense" \
  sten-convert "pruned.bitmask$ext" -o "back.bitmask$ext" --to dense --summary
same_values "pruned$ext" "back.bitmask$ext" || die "the values of the bitmask differ after the round trip"
step "Convert n:m:g back to dense" \
  sten-convert "pruned.nmg$ext" -o "back.nmg$ext" --to dense --summary
same_values "nmg-dense$ext" "back.nmg$ext" || die "the values of n:m:g differ after the round trip"

printf '\n%sAll values are bit-identical after the round trip. On disk:%s\n' "$bold" "$plain"
printf '%-28s %10s %9s\n' "in build/quickstart/" MB "of MODEL"
row "$model" "MODEL"
row "pruned$ext" "90 %, dense"
row "pruned.bitmask$ext" "90 %, bitmask"
row "nmg-dense$ext" "1:10:4, dense"
row "pruned.nmg$ext" "1:10:4, n:m:g"

if [[ $# -eq 1 ]]; then
  rm took
  exit
fi
build_step "Build sten-run, sten-train and sten-bench" sten-run sten-train sten-bench
step "Fill in masked characters" \
  sten-run "$bert" --fill 'To be, or n[MASK]t to be: t[MASK]at is the question'
recipe=$root/recipes/shakespeare-bert
step "Prune the encoder to 75 % and fine-tune it for 200 steps" \
  sten-train "$recipe-one-shot.json" --out tuned-75 --set steps=200 --summary
step "Prune it to 1:4:4 instead, fine-tune, and store n:m:g" \
  sten-train "$recipe-nmg.json" --out tuned-nmg --set steps=200 --summary
step "Store the 75 % model as a bitmask" \
  sten-convert tuned-75/model.safetensors -o tuned-75.safetensors --to bitmask \
  --include 'bert.encoder.layer.*.weight' --summary
ln -s tuned-nmg/model.sten.safetensors tuned-nmg.safetensors
for name in 75 nmg; do
  step "Energy of tuned-$name" \
    sten-energy "tuned-$name.safetensors" --include 'bert.encoder.layer.*.weight' --against "$model" --summary \
    --report "energy-$name.json"
done
step "Speed of the encoder, with 32 sequences of 128 characters" \
  sten-bench model --config "$bert/config.json" --weights "$bert/model.safetensors" --window 128 \
  --layouts csr:sparsity=0.75 --layouts nmg:n=1,m=4,g=4,sparsity=0.75 --repeats 9 --report speed.json -q
rm took

# number FILE PATH: the number at PATH (keys joined by dots) in a JSON report, which has one key per line.
number() {
  awk -v path="$2" '
    BEGIN { keys = split(path, key, "."); at = 1 }
    index($1, "\"" key[at] "\":") == 1 { if (at++ == keys) { gsub(/,/, "", $2); print $2; exit } }' "$1"
}
speed() { # speed LAYOUT: the speed of the whole encoder relative to dense
  awk -v layout="\"$1\"," '
    $1 == "\"form\":" { form = $2 }
    $1 == "\"layout\":" { found = form == "\"forward\"," && $2 == layout }
    $1 == "\"ratio\":" && found { print $2 + 0; measured = 1; exit }
    END { if (!measured) { print "speed.json: no ratio of " layout > "/dev/stderr"; exit 1 } }' speed.json
}
result() { # result TITLE LOSS-KEY FILE RUN ENERGY SPEED
  local size
  size=$(du -sbL "$3" | cut -f1)
  awk -v title="$1" -v loss="$(number "$4/summary.json" "test.loss$2")" \
    -v hits="$(number "$4/summary.json" "test.accuracy$2")" -v energy="$5" -v size="$size" -v speed="$6" \
    'BEGIN { printf "%-34s %7.3f %8.1f %% %8.1f %% %8.2f %8.2fx\n", title, loss, 100 * hits, 100 * energy, size / 1e6, speed }'
}
printf '\n%sOn the test text:%s\n' "$bold" "$plain"
printf '%-34s %7s %10s %10s %8s %9s\n' model loss accuracy energy MB encoder
csr=$(speed csr:sparsity=0.75) nmg=$(speed nmg:n=1,m=4,g=4,sparsity=0.75)
result "as shipped" _before "$model" tuned-75 1 1
result "75 %, 200 steps, bitmask" "" tuned-75.safetensors tuned-75 "$(number energy-75.json total.energy)" "$csr"
result "1:4:4 (75 %), 200 steps, n:m:g" "" tuned-nmg.safetensors tuned-nmg "$(number energy-nmg.json total.energy)" "$nmg"
echo "energy: kept share of the encoder's magnitude; encoder: its speed relative to dense, with csr for 75 %"
echo "curves of loss and sparsity: $out/tuned-75/curve.svg and $out/tuned-nmg/curve.svg"
