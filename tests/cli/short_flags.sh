# SPDX-License-Identifier: Apache-2.0
# Short forms: 2:4 for nm:n=2,m=4 and similar, aliases, and percentages.
. "$(dirname "$0")/_lib.sh"
cd "$T"
ln -s "$MODEL" in.safetensors
few="--include bert.encoder.layer.0.attention.self.*.weight"

# same LONG... -- SHORT...: both give the same bytes, because the provenance records the long form.
same() {
  long=()
  while [ "$1" != -- ]; do
    long+=("$1")
    shift
  done
  expect_exit 0 sten-prune in.safetensors -o long.safetensors -f -q "${long[@]}"
  expect_exit 0 sten-prune in.safetensors -o short.safetensors -f -q "${@:2}"
  cmp long.safetensors short.safetensors || fail "'${*:2}' and '${long[*]}' give different files"
}
same $few --structure nm:n=2,m=4 -- $few --structure 2:4
same $few --structure nm:n=2,m=4,axis=0 --to nm -- $few --structure 2:4@0 --to nm
same $few --structure nmg:n=1,m=10,g=4 --to nmg -- $few --structure 1:10:4 --to nmg
same $few --structure nm:n=2,m=4 --to nm:n=2,m=4 -- $few --to 2:4
same $few --structure nm:n=2,m=4 -- $few --structure per-block:n=2,m=4
same $few --sparsity 0.9 --structure block:h=4,w=4 -- \
  $few --sparsity 90% --structure block-magnitude:h=4,w=4
same $few --sparsity 0.125 -- $few --sparsity 12.5%
same --rule '*.key.weight=nm:n=1,m=4' -- --rule '*.key.weight=1:4'
same --rule '*.key.weight=magnitude:sparsity=0.9' -- --rule '*.key.weight=magnitude:sparsity=90%'
expect_exit 0 sten-prune in.safetensors --dry-run \
  --rule '*.key.weight=block:sparsity=0.5,h=4,w=4'
expect_out 'block-magnitude:sparsity=0.5,h=4,w=4'
echo '*.key.weight=1:4' >rules
same --rule '*.key.weight=nm:n=1,m=4' -- --rules rules
expect_exit 2 sten-prune in.safetensors --dry-run --structure 2:4:x
expect_exit 2 sten-prune in.safetensors --dry-run --sparsity 90%%
expect_one_line_err
expect_exit 2 sten-prune in.safetensors --dry-run --sparsity 101%
expect_err '--sparsity must be in [0, 1], got 1.01'

sten-prune in.safetensors -o pruned.safetensors -q --structure 2:4
expect_exit 0 sten-convert pruned.safetensors -f -o long.safetensors --to nm:n=2,m=4 -q
expect_exit 0 sten-convert pruned.safetensors -f -o short.safetensors --to 2:4 -q
cmp long.safetensors short.safetensors ||
  fail 'sten-convert: 2:4 and nm:n=2,m=4 give different files'
for spec in 2:4 per-block:n=2,m=4; do
  expect_exit 0 sten-energy pruned.safetensors --require "bert.encoder.*=$spec" --min-sparsity 50%
done
expect_exit 3 sten-energy pruned.safetensors --min-sparsity 51%
