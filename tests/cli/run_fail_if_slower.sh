# SPDX-License-Identifier: Apache-2.0
# sten-run reports operators that ignore zeros, and layouts that are slower than dense according to
# cached times. --fail-if-slower measures times that are missing.
. "$(dirname "$0")/_lib.sh"
cd "$T"
sten-train "$STEN_SOURCE/recipes/digits-mlp-one-shot.json" --out run -q --threads 1 --set sparsity.0.save=csr
cache=$STEN_CACHE/layouts.json

# Without a cache, no layout is reported as slower, and nothing is measured.
expect_exit 0 sten-run run --threads 1 --json
grep -q 'slower_than_dense' out && fail 'a layout is reported as slower without a measurement'
[ ! -e "$STEN_CACHE" ] || fail 'layouts were measured by default'

# The times in the cache decide, even if they are edited.
sten-run run --layouts auto --threads 1 -q >/dev/null
[ -s "$cache" ] || fail '--layouts auto left no cache'
times() { # times CSR DENSE
  sed -E "s/\"csr\": [^,]*/\"csr\": $1/; s/\"dense\": [^,]*/\"dense\": $2/" "$cache" >changed
  mv changed "$cache"
}
times 0.75 0.25
expect_exit 0 sten-run run --threads 1 --json
expect_out '"slower_than_dense": '
expect_out '"slowdown": 3'
expect_out '"times": "cache"'
expect_exit 0 sten-run run --threads 1
expect_out 'are slower in their layouts than dense on this machine: '
expect_out 'in csr takes 3.00 times as long; --layouts auto takes the fastest layout of each weight'
expect_exit 3 sten-run run --threads 1 --fail-if-slower -o y.npy
expect_err 'are slower in their layouts than dense on this machine: '
[ ! -e y.npy ] || fail 'outputs of a failed check were written'
expect_exit 0 sten-run run --threads 1 --fail-if-slower --layouts auto
grep -q 'slower' out && fail 'a layout that --layouts auto chose is reported as slower than dense'
expect_exit 0 sten-run run --threads 1 --fail-if-slower --layouts '*.weight=dense'
# A difference below the scatter of measurements does not count.
for csr in 0.25 0.26; do
  times $csr 0.25
  expect_exit 0 sten-run run --threads 1 --fail-if-slower
done

# --fail-if-slower measures times that are not in the cache, once.
rm -r "$STEN_CACHE"
status=0
sten-run run --threads 1 --fail-if-slower >out 2>err || status=$?
[ $status = 0 ] || [ $status = 3 ] || fail "--fail-if-slower: expected exit 0 or 3, got $status"
times 0.75 0.25
expect_exit 3 sten-run run --threads 1 --fail-if-slower --json
expect_out '"times": "cache"'
expect_out '"ok": false'
expect_exit 2 sten-run run --fail-if-slower --fill 'a[MASK]'
expect_err '--fill excludes --fail-if-slower'

# Operators that multiply zeros instead of skipping them are reported, too.
expect_exit 0 sten-run run --threads 1
grep -q 'ignore' out && fail 'a csr product is reported to ignore zeros'
for layout in dense masked; do
  expect_exit 0 sten-run run --threads 1 --layouts "*.weight=$layout"
  expect_out 'linear ignores the zeros of '
  expect_out " in $layout); --layouts auto takes the fastest layout of each weight"
  expect_exit 0 sten-run run --threads 1 --layouts "*.weight=$layout" --json
  expect_out '"ignored_zeros": '
  expect_out '"layers.0.weight": "linear"'
done
