#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Trains the digits MLP dense and by every method, with five seeds each, and prints the mean accuracy on held-out
# rows as a Markdown table. Needs sten-train in PATH, and python3.
#
#   recipes/tables/digits_mlp.sh [DIR]      DIR keeps the runs, and what is there is not run again
# In the environment, for a smaller table: METHODS, SEEDS, and SET, more arguments of sten-train.
set -euo pipefail
all="dense one-shot iterative layer-wise from-scratch nmg l0 movement soft-movement variational-dropout"
read -ra methods <<<"${METHODS:-$all}"
read -ra seeds <<<"${SEEDS:-0 1 2 3 4}"
read -ra set <<<"${SET-}"
here=$(cd "$(dirname "$0")" && pwd)
recipes=$(dirname "$here")
dir=${1:-$(mktemp -d)}
mkdir -p "$dir" && cd "$dir"

for method in "${methods[@]}"; do
  for seed in "${seeds[@]}"; do
    name=$method,$seed
    [[ -e $name/summary.json ]] ||
      sten-train "$recipes/digits-mlp-$method.json" --out "$name" --threads 1 -q --set "seed=$seed" "${set[@]}" >"$name.log"
  done
done
python3 - "${seeds[*]}" "${methods[@]}" <<'END'
import json, sys

seeds = sys.argv[1].split()
print(f"| digits-mlp | sparsity | accuracy, mean of {len(seeds)} seeds | lowest to highest |\n|---|---|---|---|")
for method in sys.argv[2:]:
    runs = [json.load(open(f"{method},{seed}/summary.json")) for seed in seeds]
    hits = [100 * r["test"]["accuracy"] for r in runs]
    total = runs[0].get("total", {})
    print(f"| {method} | {100 * total.get('sparsity', 0):.1f} % | {sum(hits) / len(hits):.2f} % | "
          f"{min(hits):.1f} to {max(hits):.1f} % |")
END
