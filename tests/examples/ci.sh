#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The steps of the CI jobs in examples/ci pass on the shipped model, and fail if a check fails.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd) root=${STEN_SOURCE:?}
export PATH=${STEN_BIN:?}:$PATH
command -v make >/dev/null || { echo "skipped: make is not installed" && exit 77; }
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
fail() { echo "$1" && exit 1; }

# A repository as the jobs expect it.
mkdir -p "$T/repository"
cd "$T/repository"
ln -s "$root/examples" "$root/recipes" .
export BASELINE=baseline.json MAX_SLOWDOWN=1000000 # timing is not tested
make -s -f examples/ci/Makefile baseline >log 2>&1 || fail "$(cat log)"
for job in github gitlab; do
  status=0
  steps=$(python3 "$here/ci.py" "examples/ci/$job.yml") || status=$?
  [[ $status != 77 ]] || { echo "skipped: Python has no yaml" && exit 77; }
  [[ $status = 0 && $(wc -l <<<"$steps") = 3 ]] || fail "$job.yml: expected three steps, got: $steps"
  rm -rf ci-out
  while read -r step; do
    bash -ec "$step" >log 2>&1 || fail "$job.yml: '$step' failed: $(cat log)"
  done <<<"$steps"
  for report in prune.html prune.json run.html run.json speed.html; do
    [[ -s ci-out/report/$report ]] || fail "$job.yml: no report $report"
  done
done

# Checks that do not hold fail the job, and energy that is too low leaves no model.
if make -s -f examples/ci/Makefile check MIN_ACCURACY=0.99 >log 2>&1; then fail "the job passes with MIN_ACCURACY=0.99"; fi
grep -q 'accuracy' log || fail "the error does not mention accuracy: $(cat log)"
if make -s -f examples/ci/Makefile prune OUT=other MIN_ENERGY=0.99 >log 2>&1; then fail "the job passes with MIN_ENERGY=0.99"; fi
grep -q 'energy' log || fail "the error does not mention energy: $(cat log)"
[[ ! -e other/pruned ]] || fail "a model with too little energy was written"
