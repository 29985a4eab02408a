# SPDX-License-Identifier: Apache-2.0
# sten-bench convert: one row per shape, layout and number of threads, as text and as files.
. "$(dirname "$0")/_lib.sh"
cd "$T"

expect_exit 0 sten-bench convert --shape 32x64 --shape 24x40 --layouts nmg:n=2,m=4,g=4 \
  --layouts csr:sparsity=0.5 --threads 1 --threads 2 --repeats 2 -q --json -o b.json -o b.csv -o b.md -o b.svg
[ ! -s err ] || fail '-q prints to standard error'
cmp out b.json || fail '-o FILE.json differs from --json'
[ "$(grep -c '"bench": "convert"' out)" = 8 ] || fail 'there are not 8 rows'
[ "$(grep -c '"layout": "nmg:n=2,m=4,g=4"' out)" = 4 ] || fail 'there are not 4 rows of nmg'
# Only n:m:g has something to be compared with, and every row has all keys.
[ "$(grep -c '"ratio": null' out)" = 4 ] || fail 'there are not 4 rows without a ratio'
for key in form shape isa threads ms gflops ratio ratio_low ratio_high repeats; do
  [ "$(sed '1,/"results"/d' out | grep -c "\"$key\":")" = 8 ] || fail "not every row has $key"
done
[ "$(wc -l <b.csv)" = 9 ] || fail 'the CSV has not 9 lines'
grep -q '^| convert | 24x40 |' b.md || fail 'the Markdown lacks a row'
grep -q 'csr:sparsity=0.5' b.csv || fail 'the CSV lacks a layout'
grep -q '<svg' b.svg && grep -q 'nmg:n=2' b.svg || fail 'the chart lacks a layout'

for input in normal student3 laplace rowscaled; do
  expect_exit 0 sten-bench convert --shape 16x16 --layouts nm:n=2,m=4 --input $input --repeats 1
  expect_out " $input "
done

# Nothing is measured where it could not be written.
expect_exit 2 sten-bench convert --shape 16x16 --layouts csr --repeats 1 -o b.json
expect_err 'b.json'
expect_exit 0 sten-bench convert --shape 16x16 --layouts csr --repeats 1 -o b.json -f
