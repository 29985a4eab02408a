#!/usr/bin/env bash
# Trains the digits MLP dense and by every method, with five seeds each, and prints the mean accuracy on held-out
# rows as a Markdown table. Needs sten-train in PATH, and python3.
#
#   recipes/tables/digits_mlp.sh [DIR]      DIR keeps the runs, and what is there is not run again
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
recipes=$(dirname "$here")
dir=${1:-$(mktemp -d)}
mkdir -p "$dir" && cd "$dir"

methods=(dense one-shot iterative layer-wise from-scratch nmg)
for method in "${methods[@]}"; do
  for seed in 0 1 2 3 4; do
    name=$method,$seed
    [[ -e $name/summary.json ]] ||
      sten-train "$recipes/digits-mlp-$method.json" --out "$name" --threads 1 -q --set "seed=$seed" >"$name.log"
  done
done
python3 - "${methods[@]}" <<'END'
import json, sys

print("| digits-mlp | sparsity | accuracy, mean of 5 seeds | lowest to highest |\n|---|---|---|---|")
for method in sys.argv[1:]:
    runs = [json.load(open(f"{method},{seed}/summary.json")) for seed in range(5)]
    hits = [100 * r["test"]["accuracy"] for r in runs]
    total = runs[0].get("total", {})
    print(f"| {method} | {100 * total.get('sparsity', 0):.1f} % | {sum(hits) / 5:.2f} % | "
          f"{min(hits):.1f} to {max(hits):.1f} % |")
END
