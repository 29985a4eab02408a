#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prunes the shipped BERT to 95 % by movement and by magnitude, after 500 steps of training on another text, the pages
# in docs, and prints losses on held-out text as a Markdown table. Needs sten-train in PATH, and python3; a run takes a
# minute or two of one core.
#
#   recipes/tables/movement_bert.sh [DIR]      DIR keeps the runs, and what is there is not run again
# In the environment: SEEDS.
set -euo pipefail
read -ra seeds <<<"${SEEDS:-0 1 2}"
here=$(cd "$(dirname "$0")" && pwd)
recipes=$(dirname "$here")
dir=${1:-$(mktemp -d)}
mkdir -p "$dir" && cd "$dir"

run() { # NAME RECIPE ARGUMENTS...
  [[ -e $1/summary.json ]] || sten-train "$recipes/shakespeare-bert-$2.json" --out "$1" --threads 1 -q "${@:3}" >"$1.log"
}

# The characters that the model knows.
[[ -e other.txt ]] || python3 - "$recipes" other.txt <<'END'
import glob, json, re, sys

known = set(json.load(open(sys.argv[1] + "/models/shakespeare-bert/vocab.json")))
text = "".join(open(f, encoding="utf-8").read() for f in sorted(glob.glob(sys.argv[1] + "/../docs/*.md")))
open(sys.argv[2], "w").write(re.sub(" +", " ", "".join(c if c in known else " " for c in text)))
END
run other dense --set data.text=other.txt
for seed in "${seeds[@]}"; do
  from=(--set model.weights=other/model.safetensors --set "seed=$seed")
  run "movement,$seed" movement "${from[@]}"
  run "magnitude,$seed" movement "${from[@]}" --set sparsity.0.scores=null \
    --set sparsity.0.sparsifier=magnitude:sparsity=0.95
done
python3 - "${seeds[@]}" <<'END'
import json, sys

seeds = sys.argv[1:]
print("| 95 % | " + " | ".join(f"loss, seed {s}" for s in seeds) + " | mean | right |\n|---|" + "---|" * (len(seeds) + 2))
for method in "magnitude", "movement":
    runs = [json.load(open(f"{method},{s}/summary.json"))["test"] for s in seeds]
    loss = [r["loss"] for r in runs]
    right = 100 * sum(r["accuracy"] for r in runs) / len(runs)
    print(f"| {method} | " + " | ".join(f"{v:.3f}" for v in loss + [sum(loss) / len(loss)]) + f" | {right:.1f} % |")
END
