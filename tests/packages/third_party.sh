#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scripts/third_party.py names every library that the programs link or load, and the code compiled in.
#   tests/packages/third_party.sh BUILD
set -euo pipefail
script=$(dirname "${BASH_SOURCE[0]}")/../../scripts/third_party.py
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for command in python3 dpkg ninja; do
  command -v $command >/dev/null || { echo "skipped: $command is missing"; exit 77; }
done
[[ -e $1/build.ninja ]] || { echo "skipped: not a build by Ninja"; exit 77; }
fail() { echo "third_party: $1"; exit 1; }

SOURCE_DATE_EPOCH=86400 python3 "$script" sbom "$1" >"$work/sbom.json"
python3 - "$work/sbom.json" <<'END'
import json, sys
document = json.load(open(sys.argv[1]))
assert document['spdxVersion'] == 'SPDX-2.3' and document['creationInfo']['created'] == '1970-01-02T00:00:00Z'
packages = {p['SPDXID']: p for p in document['packages']}
assert len(packages) == len(document['packages']), 'duplicate SPDXID'
for relation in document['relationships'][1:]:
    assert relation['spdxElementId'] == 'SPDXRef-sten' and relation['relatedSpdxElement'] in packages, relation
names = [p['name'] for p in document['packages']]
for name in ('sten', 'libc6', 'libstdc++6', 'libfmt', 'libre2', 'libutf8proc', 'nlohmann-json3-dev', 'libcli11-dev'):
    assert any(n.startswith(name) for n in names), name
END
names=$(sed -n 's/^ *"name": "\(.*\)",$/\1/p' "$work/sbom.json")
# Libraries that libsten loads by name at run time.
for pair in openblas:libopenblas onednn:libdnnl; do
  grep -q "^${pair%:*}_INCLUDE_DIR:[^=]*=/" "$1/CMakeCache.txt" || continue
  grep -q "^${pair#*:}[0-9]" <<<"$names" || fail "the SBOM lacks ${pair#*:}"
done
python3 "$script" notices "$1" >"$work/notices"
while read -r name; do
  [[ $name == sten* ]] || grep -q "^$name [^ ]* (" "$work/notices" || fail "the notices lack $name"
done <<<"$names"
grep -q 'Permission is hereby granted, free of charge' "$work/notices" || fail "the notices lack texts of licences"
status=0
python3 "$script" sbom "$work" 2>"$work/error" || status=$?
[[ $status == 1 && $(cat "$work/error") == "third_party: $work: not a finished build by Ninja: CMakeCache.txt is missing" ]] || fail "unexpected error: $(cat "$work/error")"
