#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# scripts/checks/bad_input_coverage.sh accepts a case only if its test has recorded it.
set -eu
check=$(cd "$(dirname "$0")/../.." && pwd)/scripts/checks/bad_input_coverage.sh
T=$(mktemp -d)
trap 'rm -r "$T"' EXIT
mkdir "$T/records"
echo '1 tests/cli/bad_input.sh
2 tests/cli/other.sh
13 tests/system/mmap_test.cpp' >"$T/records/some"
status=0
sh "$check" "$T/records" >"$T/out" || status=$?
lines=$(grep -c 'did not run it' "$T/out")
first=$(head -n 1 "$T/out")
case "$status $lines $first" in
  '1 161 docs/bad_input.md: case 2: '*) ;;
  *)
    echo "expected exit 1 and 161 cases from case 2, got exit $status and $lines cases from $first"
    exit 1
    ;;
esac
