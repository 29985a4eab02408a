#!/bin/sh
# Every recipe in recipes/ is what schema.json says, which refuses what the parser refuses, and the
# README's table has the lines that each method takes. Exit 77 (skipped) where the schema cannot be tried.
set -eu
cd "$(dirname "$0")/../../recipes"
bad=0
for method in one-shot iterative layer-wise from-scratch nmg; do
  row="| $method |"
  for model in digits-mlp shakespeare-bert; do
    lines=$(diff "$model-dense.json" "$model-$method.json" | grep -c '^>')
    row="$row $lines |"
  done
  grep -qxF "$row" README.md || { echo "recipes/README.md lacks '$row'" && bad=1; }
done
for recipe in *-*.json; do
  grep -qF "| \`${recipe%.json}\` |" README.md || { echo "recipes/README.md lacks $recipe" && bad=1; }
done
[ $bad = 0 ] || exit 1

python=${PYTHON:-python3}
if ! "$python" -c 'from jsonschema import Draft202012Validator' 2>/dev/null; then
  echo "skipped the schema: $python has no jsonschema of 2020 or later"
  exit 77
fi
"$python" - <<'EOF'
import copy, glob, json, sys
from jsonschema import Draft202012Validator

schema = json.load(open("schema.json"))
Draft202012Validator.check_schema(schema)
valid = Draft202012Validator(schema).is_valid
bad = [f for f in sorted(glob.glob("*-*.json")) if not valid(json.load(open(f)))]
for f in bad:
    print(f"{f}: is not what schema.json says")

cases = json.load(open("../tests/recipe/schema_cases.json"))
base = json.load(open(cases["changed"] + ".json"))


def changed(pointer, value):
    """The recipe with another value there; null takes the key away."""
    r = at = copy.deepcopy(base)
    *path, last = [int(s) if s.isdigit() else s for s in pointer.split("/")[1:]]
    for step in path:
        at = at[step]
    if value is None:
        del at[last]
    else:
        at[last] = value
    return r


for which, want in (("refused", False), ("accepted", True)):
    for pointer, value in cases[which]:
        if valid(changed(pointer, value)) != want:
            bad.append(pointer)
            print(f"schema.json: {pointer} {value} is not {which}")
sys.exit(bool(bad))
EOF
