#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prunes shakespeare-bert's encoder to whole tiles (nmgv), and for comparison to other formats, by what goes into its
# layers, trains it for 500 steps, and prints loss and accuracy on held-out text as a Markdown table. Needs sten-train
# in PATH, and python3; each run is four minutes on a core.
#
#   recipes/tables/nmgv_bert.sh [DIR [RUNS]]     DIR keeps the runs, and what is there is not run again;
#                                                RUNS at a time, one thread each (default: all processors)
# In the environment, for a smaller table: FORMATS, SEEDS (of 1:4:2:V; others have the first), and SET, more arguments
# of sten-train.
set -euo pipefail
export SET=${SET-}
here=$(cd "$(dirname "$0")" && pwd)
recipes=$(dirname "$here")
dir=${1:-$(mktemp -d)}
runs=${2:-$(nproc)}
mkdir -p "$dir" && cd "$dir"

# Names of runs are FORMAT,SEED.
run() {
  local name=$1 format=${1%,*} by resume=()
  by=$format
  if [[ $format != *:* ]]; then by=magnitude:sparsity=0.$format; fi
  if [[ -e $name/summary.json ]]; then return; fi
  if [[ -d $name ]]; then resume=(--resume); fi
  sten-train "$recipes/shakespeare-bert-one-shot.json" --out "$name" --threads 1 -q --set "seed=${name#*,}" \
    --set "sparsity.0.sparsifier=$by" --set 'sparsity.0.calibration={"method":"admm"}' $SET "${resume[@]}" \
    >"$name.log" || echo "failed: $name" >&2
}
export -f run
export recipes

seeds=(${SEEDS:-0 1 2})
for seed in "${seeds[@]}"; do
  for format in ${FORMATS:-75 90 2:4:2 1:4:4 1:2:2:4 1:2:2:16 1:2:2:32 1:4:2:4 1:4:2:16 1:4:2:32}; do
    if [[ $seed == "${seeds[0]}" || $format == 1:4:2:* ]]; then echo "$format,$seed"; fi
  done
done | xargs -P "$runs" -I{} bash -euo pipefail -c 'run {}'

python3 - <<'END'
import json, pathlib
runs = {}  # format: summaries of seeds
for path in sorted(pathlib.Path().glob("*,*/summary.json")):
    runs.setdefault(path.parent.name.split(",")[0], []).append(json.loads(path.read_text())["test"])
print("| encoder weights | loss | right |\n|---|---|---|")
for form in sorted(runs, key=lambda f: (f.count(":"), [int(n) for n in f.split(":")])):
    losses = [t["loss"] for t in runs[form]]
    mean, spread = sum(losses) / len(losses), (max(losses) - min(losses)) / 2
    right = sum(t["accuracy"] for t in runs[form]) / len(losses)
    shown = f"{mean:.3f}" + (f" ± {spread:.3f}" if len(losses) > 1 else "")
    print(f"| {form if ':' in form else form + ' %'} | {shown} | {100 * right:.1f} % |")
END
