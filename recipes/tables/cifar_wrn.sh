#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Trains wrn-10-1 on CIFAR-10 or a part of it, prunes it in several ways, trains each further, and prints the accuracies
# on the test images as a Markdown table; curves.svg in DIR shows the losses. Needs sten-train in PATH, and python3.
#
#   recipes/tables/cifar_wrn.sh CIFAR [DIR [RUNS]]      CIFAR: the folder of the .bin files;
#                                                       DIR keeps the runs, and what is there is not run again;
#                                                       RUNS at a time, one thread each (default: all processors)
# In the environment, for another table: FORMATS, SEEDS, METHODS, STEPS of the dense model, MORE steps of each that is
# pruned, MODEL (wrn-10-1 or wrn-16-8), and SET, more arguments of sten-train.
set -euo pipefail
export STEPS=${STEPS:-4000} MORE=${MORE:-1500} SET=${SET-} MODEL=${MODEL:-wrn-10-1}
here=$(cd "$(dirname "$0")" && pwd)
recipes=$(dirname "$here")
cifar=$(cd "${1?the folder of CIFAR-10}" && pwd)
dir=${2:-$(mktemp -d)}
runs=${3:-$(nproc)}
mkdir -p "$dir" && cd "$dir"

# Names of runs are METHOD,FORMAT,SEED.
commands() {
  local format seed method
  for seed in ${SEEDS:-0 1 2}; do
    echo "dense,more,$seed"
    for format in ${FORMATS:-50 75 90 2:4:4 1:4:4}; do
      for method in ${METHODS:-one-shot iterative layer-wise}; do echo "$method,$format,$seed"; done
    done
  done
}

sparsifier() {
  local n m g
  IFS=: read -r n m g <<<"$1"
  if [[ -n ${g-} ]]; then
    echo "nmg:n=$n,m=$m,g=$g"
  else
    echo "magnitude:sparsity=0.$n"
  fi
}

# Stages of the iterative and layer-wise methods are begun in the first half of the steps.
schedule() { # schedule METHOD FORMAT
  local how
  case $1,$2 in
    one-shot,*) how='"kind":"one-shot"' ;;
    layer-wise,*) how="\"kind\":\"layer-wise\",\"end\":$((MORE / 2))" ;;
    iterative,2:4:*) how="\"kind\":\"iterative\",\"sparsifiers\":[\"nmg:n=3,m=4,g=4\",\"nmg:n=2,m=4,g=4\"],\"end\":$((MORE / 2))" ;;
    iterative,1:4:*) how="\"kind\":\"iterative\",\"sparsifiers\":[\"nmg:n=3,m=4,g=4\",\"nmg:n=2,m=4,g=4\",\"nmg:n=1,m=4,g=4\"],\"end\":$((MORE / 2))" ;;
    *) how=$(awk -v s="0.$2" -v e=$((MORE / 2)) 'BEGIN { printf "\"kind\":\"iterative\",\"from\":%g,\"step\":%g,\"end\":%d", s / 5, s / 5, e }') ;;
  esac
  echo "{$how}"
}

train() { # train NAME RECIPE STEPS RATE ARGUMENT...
  local name=$1 recipe=$recipes/cifar-$MODEL-$2.json steps=$3 rate=$4 resume=()
  shift 4
  if [[ -d $name ]]; then resume=(--resume); fi
  sten-train "$recipe" --out "$name" --threads 1 -q --set "data.folder=$cifar" --set "steps=$steps" \
    --set "rate={\"kind\":\"cosine\",\"warmup\":$((steps / 50))}" --set "optimizer.rate=$rate" \
    --set checkpoints.every=500 "$@" $SET "${resume[@]}" >"$name.log"
}

run() { # run NAME
  local method format seed
  IFS=, read -r method format seed <<<"$1"
  if [[ -e $1/summary.json ]]; then return; fi
  set -- "$1" --set "seed=$seed"
  if [[ $format != trained ]]; then set -- "$@" --set "model.weights=$PWD/dense,trained,$seed/model.safetensors"; fi
  if [[ $method != dense ]]; then
    set -- "$@" --set "sparsity.0.sparsifier=$(sparsifier "$format")" \
      --set "sparsity.0.schedule=$(schedule "$method" "$format")"
  fi
  local name=$1
  shift
  if [[ $format == trained ]]; then
    train "$name" dense "$STEPS" 0.1 "$@"
  else
    train "$name" "$method" "$MORE" 0.05 "$@"
  fi || echo "failed: $name" >&2
}

export -f run train sparsifier schedule
export recipes cifar
for seed in ${SEEDS:-0 1 2}; do echo "dense,trained,$seed"; done |
  xargs -P "$runs" -d '\n' -I{} bash -euo pipefail -c 'run {}'
commands | xargs -P "$runs" -d '\n' -I{} bash -euo pipefail -c 'run {}'
python3 "$here/cifar_wrn.py" . "$STEPS" "$MORE"
