# SPDX-License-Identifier: Apache-2.0
# nmgv (n:m:g of tiles): pruning, storage, checks, energy; invalid parameters give one error line.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_safetensors.sh"

cd "$T"
expect_exit 0 sten-prune "$MODEL" -o tiles.safetensors --structure 1:4:4:8 --to nmgv --report prune.json
expect_out 'nmgv runs down columns (axis 0)'
grep -qF '"to": "nmgv:n=1,m=4,g=4,v=8"' prune.json || fail "the report lacks the layout nmgv"
grep -qF '"fit": "exact"' prune.json || fail "the report does not say how tiles were chosen"
header tiles.safetensors | grep -qF 'nmgv:n=1,m=4,g=4,v=8' || fail "the stored layout is not nmgv"
# sten-convert --to nmgv prunes to the structure of the layout.
expect_exit 0 sten-convert "$MODEL" -o converted.safetensors --to nmgv:n=1,m=4,g=4,v=8 --summary
expect_out '25 of them were pruned to it'
data converted.safetensors >got
data tiles.safetensors | cmp - got || fail 'sten-convert --to nmgv and sten-prune differ'
# The kept elements are the same if the pruned tensors are stored dense.
expect_exit 0 sten-prune "$MODEL" -o dense.safetensors --structure 1:4:4:8x2
expect_exit 0 sten-convert tiles.safetensors -o back.safetensors --to dense
data back.safetensors >got
data dense.safetensors | cmp - got || fail 'tensors stored as nmgv and as dense differ'

expect_exit 0 sten-energy tiles.safetensors --against "$MODEL" --json
expect_out '"layout": "nmgv:n=1,m=4,g=4,v=8"'
for file in tiles dense; do
  expect_exit 0 sten-energy $file.safetensors --require '*.encoder.*.dense.weight=1:4:4:8'
done
expect_exit 3 sten-energy dense.safetensors --require '*.encoder.*.dense.weight=1:4:4:16'
expect_err "counted in tiles, cannot hold"
expect_exit 3 sten-convert "$MODEL" -o o --to 1:4:4:8 --lossless
[ ! -e o ] || fail "a rejected run left an output"

for wrong in 1:4:4:0 1:4:4:8x0 1:4:4:70000 nmgv:n=1,m=4,g=4 1:4:99999999999:8 \
  nmgv:n=1,m=4,g=4,v=-1 nmgv:n=1,m=4,g=4,v=8,u=1 1:4:4:99999999999999999999; do
  expect_exit 2 sten-prune "$MODEL" -o o --structure $wrong
  [ "$(wc -l <err)" = 1 ] || fail "$wrong: stderr is not one line"
  [ ! -e o ] || fail "$wrong: a rejected run left an output"
done
