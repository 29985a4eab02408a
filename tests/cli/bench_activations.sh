# SPDX-License-Identifier: Apache-2.0
# sten-bench step --activations: training steps of an MLP with dense and sparse hidden activations.
. "$(dirname "$0")/_lib.sh"
cd "$T"

small="--shape 24x80x12 --batch 64 --repeats 2"
expect_exit 0 sten-bench step $small --activations csr:sparsity=0.95 --activations bitmask --json -o b.json
[ "$(grep -c '"bench": "step"' out)" = 6 ] || fail 'expected 2 rows for each of 3 layouts'
[ "$(grep -c '"form": "linear"' out)" = 3 ] ||
  fail 'expected 1 row of the linear layer for each of 3 layouts'
[ "$(grep -c '"form": "activations"' out)" = 2 ] ||
  fail 'expected 2 rows of steps with sparse activations'
[ "$(grep -c '"ratio": [0-9]' out)" = 6 ] || fail 'a row has no ratio'
expect_exit 0 sten-bench step $small --activations csr:sparsity=0.95 --against b.json --max-slowdown 1000000
expect_out 'compared with b.json'
expect_out ' 64x24x80x12 '
grep -qE 'csr:sparsity=0.95: 9[3-7]\.[0-9] % of 5120 hidden activations are 0' out ||
  fail 'the share of zero activations is not reported'
expect_exit 2 sten-bench step --activations nmg:n=1,m=4,g=4
expect_err '--activations nmg:n=1,m=4,g=4: operators have no sparse output in nmg'
expect_exit 2 sten-bench step --activations csr --layouts csr
expect_err '--activations measures an MLP with dense weights and excludes --layouts'
expect_exit 2 sten-bench gemm --activations csr
expect_err '--activations belongs to step'
