#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prunes the encoder of shakespeare-bert in one shot, in stages and layer by layer, and prints loss and accuracy
# on held-out text as a Markdown table. Needs sten-prune in PATH, and python3 with torch, transformers and
# safetensors ($PYTHON).
#
#   recipes/finetune/bert_table.sh [DIR]      DIR keeps all models, and what is there is not made again
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
dir=${1:-$(mktemp -d)}
train="${PYTHON:-python3} $here/bert_mlm_torch.py"
model=$here/../models/shakespeare-bert
mkdir -p "$dir" && cd "$dir"

prune() { # prune NAME ARGUMENT...: makes the directory NAME, and NAME.seconds
  local name=$1 TIMEFORMAT='%R %U'
  shift
  [ -e "$name" ] ||
    { time sten-prune "$model" -o "$name" --include 'bert.encoder.*' "$@" >"$name.log"; } 2>"$name.seconds"
}
staged() { # staged NAME RATE ARGUMENT...
  local name=$1 rate=$2
  shift 2
  prune "$name" "$@" --state "$name.state" \
    --finetune "$train tune {in} {out} --masks {mask} --metrics {metrics} --rate $rate"
}
row() { # row NAME TITLE
  local loss accuracy wall user
  read -r loss accuracy < <($train test "$1")
  read -r wall user < <(tail -n 1 "$2") # behind what the trainer said
  echo "| $3 | $loss | $accuracy % | $wall | $user |"
}

prune one-shot-50 --sparsity 0.5
prune one-shot-75 --sparsity 0.75
prune one-shot-nmg --structure nmg:n=1,m=4,g=4
staged iterative-50 2e-4 --schedule iterative:from=0.1,to=0.5,step=0.1
staged iterative-nmg 2e-3 --schedule iterative \
  --structure nmg:n=3,m=4,g=4 --structure nmg:n=2,m=4,g=4 --structure nmg:n=1,m=4,g=4
staged layer-wise-50 2e-4 --schedule layer-wise --sparsity 0.5 --tolerance 0.1

echo 0 0 >none.seconds
echo "| | loss | right | seconds | of them, computing |"
echo "|---|---|---|---|---|"
row "$model" none.seconds "dense"
row one-shot-50 one-shot-50.seconds "50 %, one shot"
row one-shot-75 one-shot-75.seconds "75 %, one shot"
row one-shot-nmg one-shot-nmg.seconds "1:4:4, one shot"
row iterative-50 iterative-50.seconds "50 %, iterative in 5 stages"
row iterative-nmg iterative-nmg.seconds "1:4:4, iterative: 3:4:4, 2:4:4, 1:4:4"
row layer-wise-50 layer-wise-50.seconds "50 %, layer-wise: $(sed -n 's/^sparsity \(.*\) over .* after/\1 after/p' layer-wise-50.log)"
