#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fine-tunes shakespeare-bert, its encoder pruned in several ways, 500 steps each, and prints loss and accuracy on
# held-out text as Markdown tables. Needs sten-prune and sten-train in PATH, and python3.
#
#   recipes/tables/shakespeare_bert.sh [DIR [RUNS]]     DIR keeps the runs, and what is there is not run again;
#                                                       RUNS at a time, one thread each (default: all processors)
# In the environment, for a smaller table: FORMATS, SEEDS, STEPS, and SET, more arguments of sten-train.
set -euo pipefail
export STEPS=${STEPS:-500} SET=${SET-}
here=$(cd "$(dirname "$0")" && pwd)
recipes=$(dirname "$here")
dir=${1:-$(mktemp -d)}
runs=${2:-$(nproc)}
mkdir -p "$dir" && cd "$dir"

# Names of runs are METHOD,FORMAT,SEED; commands are one line each.
commands() {
  local format seed
  echo "train dense,trained,0 dense"
  for seed in ${SEEDS:-0 1 2}; do
    for format in ${FORMATS:-50 75 90 2:4:2 1:4:4 2:4 1:4}; do
      if [[ $seed == 0 ]]; then
        echo "prune none,$format,0"
      elif [[ ! $format =~ ^(50|1:4:4)$ ]]; then
        continue
      fi
      echo "train one-shot,$format,$seed one-shot"
      if [[ $format =~ ^.:.$ ]]; then continue; fi # n:m for comparison
      echo "calibrated admm,$format,$seed"
      echo "train iterative,$format,$seed iterative"
      echo "train layer-wise,$format,$seed layer-wise --set sparsity.0.schedule.end=$((STEPS * 240 / 500))"
    done
  done
}

sparsifier() { # sparsifier FORMAT [g for n:m:g]
  local n m g
  IFS=: read -r n m g <<<"$1"
  if [[ -n ${g-} ]]; then
    echo "nmg:n=$n,m=$m,g=$g"
  elif [[ -n ${m-} ]]; then
    echo "nm:n=$n,m=$m"
  else
    echo "magnitude:sparsity=0.$n"
  fi
}

# The stages of the iterative method, five or those of n:m:g, all begun in the first half of the steps.
stages() {
  local how
  case $1 in
    2:4:2) how='"sparsifiers":["nmg:n=3,m=4,g=2","nmg:n=2,m=4,g=2"]' ;;
    1:4:4) how='"sparsifiers":["nmg:n=3,m=4,g=4","nmg:n=2,m=4,g=4","nmg:n=1,m=4,g=4"]' ;;
    *) how=$(awk -v s="0.$1" 'BEGIN { printf "\"from\":%g,\"step\":%g", s / 5, s / 5 }') ;;
  esac
  echo "{\"kind\":\"iterative\",$how,\"end\":$((STEPS / 2))}"
}

train() { # train NAME RECIPE ARGUMENT...
  local name=$1 recipe=$2 method format seed
  shift 2
  IFS=, read -r method format seed <<<"$name"
  if [[ $recipe != dense ]]; then set -- "$@" --set "sparsity.0.sparsifier=$(sparsifier "$format")"; fi
  if [[ $recipe == iterative ]]; then set -- "$@" --set "sparsity.0.schedule=$(stages "$format")"; fi
  if [[ $format == 50 ]]; then set -- "$@" --set optimizer.rate=5e-4; fi
  local resume=()
  if [[ -d $name ]]; then resume=(--resume); fi
  sten-train "$recipes/shakespeare-bert-$recipe.json" --out "$name" --threads 1 -q --set "steps=$STEPS" \
    --set "seed=$seed" "$@" $SET "${resume[@]}" >"$name.log"
}

# Pruned by what goes into the layers, and trained from there. The sparsifier finds the same positions again.
calibrated() { # calibrated NAME
  local format spec how
  IFS=, read -r _ format _ <<<"$1"
  spec=$(sparsifier "$format")
  how=(--structure "$spec")
  if [[ $spec == magnitude* ]]; then how=(--sparsity "0.$format"); fi
  sten-prune "$recipes/models/shakespeare-bert" -f -o "$1.pruned" --include 'bert.encoder.layer.*.weight' "${how[@]}" \
    --method admm --calibrate "$recipes/shakespeare-bert-one-shot.json" --threads 1 -q >"$1.log"
  train "$1" one-shot --set "model.weights=$PWD/$1.pruned/model.safetensors"
}

# What pruning alone does is the loss before the first step of another run.
prune() { # prune NAME
  local format
  IFS=, read -r _ format _ <<<"$1"
  local spec how
  spec=$(sparsifier "$format")
  how=(--structure "$spec")
  if [[ $spec == magnitude* ]]; then how=(--sparsity "0.$format"); fi
  sten-prune "$recipes/models/shakespeare-bert/model.safetensors" -f -o "$1.safetensors" \
    --include 'bert.encoder.layer.*.weight' "${how[@]}" -q >"$1.log"
  sten-train "$recipes/shakespeare-bert-dense.json" --out "$1" --threads 1 -q --set "model.weights=$PWD/$1.safetensors" \
    --set steps=1 --set rate.warmup=0 --set checkpoints.every=0 --set evaluation.every=0 $SET >>"$1.log"
}

run() {
  if [[ ! -e $2/summary.json ]]; then "$@" || echo "failed: $*" >&2; fi
}

export -f run train calibrated prune sparsifier stages
export recipes
commands | xargs -P "$runs" -d '\n' -I{} bash -euo pipefail -c 'run {}'
python3 "$here/shakespeare_bert.py" . "$STEPS"
