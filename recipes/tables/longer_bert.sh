#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Trains shakespeare-bert longer, dense; and for as many steps with that as teacher, pruned in several ways on the way.
# Prints loss and accuracy on held-out text as a Markdown table, and draws DIR/curves.svg. Needs sten-train in
# PATH, and python3; each run is half an hour on a core.
#
#   recipes/tables/longer_bert.sh [DIR [RUNS]]     DIR keeps the runs, and what is there is not run again;
#                                                  RUNS at a time, one thread each (default: all processors)
# In the environment: FORMATS, of which those of four numbers are whole tiles, as 1-4-2-32; SEEDS (of 1-4-4 and tiles of
# 1-4); and SET and SPARSE_SET, more arguments of sten-train, the latter of sparse runs alone.
set -euo pipefail
export SET=${SET-} SPARSE_SET=${SPARSE_SET-}
here=$(cd "$(dirname "$0")" && pwd)
recipes=$(dirname "$here")
dir=${1:-$(mktemp -d)}
runs=${2:-$(nproc)}
mkdir -p "$dir" && cd "$dir"

# Names of runs are FORMAT,SEED.
run() { # run NAME ARGUMENT...
  local name=$1 recipe=${1%,*} resume=()
  shift
  if [[ $recipe == *-*-*-* ]]; then
    set -- --set "sparsity.0.sparsifier=${recipe//-/:}" --set sparsity.0.save=nmgv "$@"
    recipe=1-4-4
  fi
  if [[ -e $name/summary.json ]]; then return; fi
  if [[ -d $name ]]; then resume=(--resume); fi
  sten-train "$recipes/shakespeare-bert-longer-$recipe.json" --out "$name" --threads 1 -q --set "seed=${name#*,}" \
    "$@" $SET "${resume[@]}" >"$name.log" || echo "failed: $name" >&2
}
sparse() { run "$1" --set "distillation.teacher=$PWD/dense,0/model.safetensors" $SPARSE_SET; }
export -f run sparse
export recipes

run dense,0
for seed in ${SEEDS:-0 1 2}; do
  for format in ${FORMATS:-75 90 2-4-2 1-4-4 1-10-4}; do
    if [[ $seed == 0 || $format == 1-4-4 || $format == 1-4-2-* ]]; then echo "$format,$seed"; fi
  done
done | xargs -P "$runs" -I{} bash -euo pipefail -c 'sparse {}'
python3 "$here/longer_bert.py" .
