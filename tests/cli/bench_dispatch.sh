# SPDX-License-Identifier: Apache-2.0
# sten-bench dispatch: the overhead of a call; a linear layer with and without a tape, compared with
# the bare product.
. "$(dirname "$0")/_lib.sh"
cd "$T"

expect_exit 0 sten-bench dispatch --shape 16x24x8 --layouts csr:sparsity=0.5 --layouts dense \
  --threads 1 --threads 2 --repeats 2 -q --json
[ "$(grep -c '"bench": "dispatch"' out)" = 9 ] || fail 'expected 9 rows'
[ "$(grep -c '"form": "call"' out)" = 1 ] || fail 'expected 1 row of the bare call'
for form in linear taped; do
  [ "$(grep -c "\"form\": \"$form\"" out)" = 4 ] || fail "expected 4 rows of $form"
done
# Only the bare call has no ratio.
[ "$(grep -c '"ratio": null' out)" = 1 ] || fail 'expected exactly 1 row without a ratio'
expect_exit 2 sten-bench dispatch --shape 16x24
expect_err "--shape '16x24': expected MxKxN"
