#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prunes shakespeare-bert by several methods, without training, and prints what each keeps of the energy, what its
# outputs lose on the calibration data, and its loss on held-out text, as Markdown tables. Needs sten-prune and sten-run
# in PATH, and python3; some minutes on a core.
#
#   recipes/tables/calibrated_bert.sh [DIR]     DIR keeps the results, and what is there is not made again
# In the environment: FORMATS, METHODS.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
recipes=$(dirname "$here")
dir=${1:-$(mktemp -d)}
mkdir -p "$dir" && cd "$dir"
recipe=$recipes/shakespeare-bert-one-shot.json

for format in ${FORMATS:-50 75 90 2:4:2 1:4:4 1:10:4}; do
  for method in ${METHODS:-magnitude wanda ria reconstruct sparsegpt admm}; do
    name=$method,$format
    if [[ -e $name.run.json ]]; then continue; fi
    how=(--structure "$format")
    if [[ $format != *:* ]]; then how=(--sparsity "0.$format"); fi
    case $method in
      magnitude) ;;
      reconstruct) how+=(--reconstruct --calibrate "$recipe") ;;
      *) how+=(--method "$method" --calibrate "$recipe") ;;
    esac
    sten-prune "$recipes/models/shakespeare-bert" -f -o "$name" --include 'bert.encoder.layer.*.weight' "${how[@]}" -q \
      --report "$name.prune.json"
    sten-run "$name" --data "$recipe" -q --report "$name.run.json"
    rm -r "$name"
  done
done
python3 "$here/calibrated_bert.py" .
