# SPDX-License-Identifier: Apache-2.0
# sten-bench convert: one row per shape, layout and number of threads, as text and as files.
. "$(dirname "$0")/_lib.sh"
cd "$T"

expect_exit 0 sten-bench convert --shape 32x64 --shape 24x40 --layouts nmg:n=2,m=4,g=4 \
  --layouts csr:sparsity=0.5 --threads 1 --threads 2 --repeats 2 -q --json -o b.json -o b.csv -o b.md -o b.svg
[ ! -s err ] || fail '-q prints to standard error'
cmp out b.json || fail '-o FILE.json differs from --json'
[ "$(grep -c '"bench": "convert"' out)" = 8 ] || fail 'expected 8 rows'
[ "$(grep -c '"layout": "nmg:n=2,m=4,g=4"' out)" = 4 ] || fail 'expected 4 rows of nmg'
# Only the rows of n:m:g have a ratio, and every row has all keys.
[ "$(grep -c '"ratio": null' out)" = 4 ] || fail 'expected 4 rows without a ratio'
for key in form shape isa threads ms gflops ratio ratio_low ratio_high repeats; do
  [ "$(sed '1,/"results"/d' out | grep -c "\"$key\":")" = 8 ] || fail "not every row has $key"
done
[ "$(wc -l <b.csv)" = 9 ] || fail 'expected 9 lines in b.csv'
grep -q '^| convert | 24x40 |' b.md || fail 'b.md lacks a row of shape 24x40'
grep -q 'csr:sparsity=0.5' b.csv || fail 'b.csv lacks csr:sparsity=0.5'
grep -q '<svg' b.svg && grep -q 'nmg:n=2' b.svg || fail 'b.svg is not a chart with nmg:n=2'

for input in normal student3 laplace rowscaled; do
  expect_exit 0 sten-bench convert --shape 16x16 --layouts nm:n=2,m=4 --input $input --repeats 1
  expect_out " $input "
done

# An existing output file is an error before anything is measured.
expect_exit 2 sten-bench convert --shape 16x16 --layouts csr --repeats 1 -o b.json
expect_err 'b.json'
expect_exit 0 sten-bench convert --shape 16x16 --layouts csr --repeats 1 -o b.json -f
