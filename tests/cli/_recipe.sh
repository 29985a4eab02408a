# SPDX-License-Identifier: Apache-2.0
# A recipe that trains in a fraction of a second. After _lib.sh:
#   . "$(dirname "$0")/_recipe.sh"
# $RECIPE is an MLP on the digits whose weights become sparse in stages, with refreshed masks.
# `train DIR [FLAG...]` trains it, quietly unless QUIET is empty, on $THREADS threads (default 1).
cp "$STEN_SOURCE/recipes/data/digits.csv" "$T/digits.csv"
RECIPE=$T/recipe.json
cat >"$RECIPE" <<'EOF'
{
  "schema": 1,
  "model": {"kind": "mlp", "sizes": [64, 48, 32, 10]},
  "data": {"kind": "csv", "file": "digits.csv", "train": 0.6, "validation": 0.2, "scale": 0.125, "shift": -1},
  "optimizer": {"kind": "adamw", "rate": 0.004},
  "rate": {"kind": "cosine", "warmup": 10},
  "steps": 160,
  "clip": 1,
  "sparsity": [
    {
      "target": "layers.[01].weight",
      "sparsifier": "magnitude:sparsity=0.8",
      "schedule": {"kind": "iterative", "from": 0.2, "step": 0.2, "end": 80},
      "mask": {"refresh": 7},
      "save": "csr"
    }
  ],
  "evaluation": {"every": 40, "keep_best": true},
  "checkpoints": {"every": 10, "keep": 3},
  "logging": {"every": 5}
}
EOF
# The faster library may differ from run to run, and with it the last bits: all runs of a test take
# the one that the first run took.
sten-train "$RECIPE" --out "$T/chosen" --set steps=1 --set sparsity=null --set rate=null -q >/dev/null
PRODUCTS=$(sed -n 's/.*"products": "\([A-Za-z]*\).*/\L\1/p' "$T"/chosen/checkpoints/*/state.json)
sed -i "s/\"steps\": 160/\"products\": \"$PRODUCTS\",\n  &/" "$RECIPE"
train() { sten-train "$RECIPE" --out "$1" ${QUIET--q} --threads "${THREADS:-1}" "${@:2}"; }
