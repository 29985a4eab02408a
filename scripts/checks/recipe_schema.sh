#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every recipe in recipes/ is valid under schema.json, which rejects the same cases as the parser.
# Exit 77 (skipped) without a Python that has jsonschema; scripts/test.sh makes one in build/venv.
set -eu
cd "$(dirname "$0")/../../recipes"
for python in "${STEN_BIN:-../build/bin}/../venv/bin/python" python3 ''; do
  [ -n "$python" ] || {
    echo "skipped: found no Python with jsonschema of 2020 or later; scripts/test.sh installs it"
    exit 77
  }
  "$python" -c 'from jsonschema import Draft202012Validator' 2>/dev/null && break
done
"$python" - <<'EOF'
import copy, glob, json, sys
from jsonschema import Draft202012Validator

schema = json.load(open("schema.json"))
Draft202012Validator.check_schema(schema)
valid = Draft202012Validator(schema).is_valid
files = sorted(f for pattern in ("*-*.json", "paper/*.json", "llm/*.json") for f in glob.glob(pattern))
bad = [f for f in files if not valid(json.load(open(f)))]
for f in bad:
    print(f"{f}: does not match schema.json")

cases = json.load(open("../tests/recipe/schema_cases.json"))
base = json.load(open(cases["changed"] + ".json"))


def changed(pointer, value):
    """The recipe with this value at the pointer; None removes the key."""
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
