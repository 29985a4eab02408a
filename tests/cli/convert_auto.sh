# SPDX-License-Identifier: Apache-2.0
# --to auto stores each tensor in its smallest lossless layout.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_safetensors.sh"
cd "$T"

expect_exit 0 sten-prune "$MODEL" -o pruned.safetensors -q --rule '*key.weight=2:4' \
  --rule '*.0.*query.weight=magnitude:sparsity=0.99' --rule '*query.weight=magnitude:sparsity=0.9844' \
  --rule '*output.dense.weight=1:10:4'
expect_exit 0 sten-convert pruned.safetensors -o auto.safetensors --to auto
layout() { # NAME LAYOUT: the report gives LAYOUT for the weight NAME
  grep -qE "^bert.encoder.layer.$1.weight +[0-9x]+  F32    dense  $2 " out ||
    fail "expected layout $2 for $1"
}
layout 0.attention.self.key bitmask
layout 0.attention.self.query coo
layout 1.attention.self.query csr
layout 0.attention.output.dense nm:n=1,m=10,axis=0
layout 0.intermediate.dense dense
expect_out 'converted 25 of 74 tensors to auto: 4 bitmask, 1 coo, 3 csr, 9 dense, 8 nm'
grep -q 'not smaller' out && fail 'a tensor in its chosen layout is not smaller than dense'

# No tensor is smaller in another layout, and the conversion is lossless.
for to in bitmask csr csc coo ell bcsr:h=4,w=4; do
  expect_exit 0 sten-convert auto.safetensors -o other.safetensors --to $to -q -f --json
  mv out other.json
  expect_exit 0 sten-convert auto.safetensors --dry-run --to auto -q --json
  paste <(grep '"bytes_after"' out | grep -o '[0-9]*') <(grep '"bytes_after"' other.json | grep -o '[0-9]*') |
    awk '$1 > $2 { exit 1 }' || fail "a tensor is smaller in $to than in auto"
done
expect_exit 0 sten-convert auto.safetensors -o back.safetensors --to dense -q
data pruned.safetensors >a && data back.safetensors >b
cmp a b || fail 'the data changed in the conversion to auto and back'
# A tensor in its smallest layout stays unchanged, also in a pipe.
sten-convert - -o - --to auto -q <auto.safetensors >again.safetensors 2>err
data auto.safetensors >a && data again.safetensors >b
cmp a b || fail 'a second conversion to auto changed the data'
expect_exit 0 sten-energy --diff pruned.safetensors auto.safetensors

# Special cases: no elements, one element, other dtypes; and a vector, which stays dense.
safetensors odd.safetensors "{$(entry empty F32 0,4 0 0),$(entry one F32 1,1 0 4),
  $(entry bytes U8 4,4 4 20),$(entry line F32 4 20 36)}" "$F1$(repeat 16 '\x00')$F1$F0$F0$F0"
expect_exit 0 sten-convert odd.safetensors -o odd.auto --to auto --include empty --include one --include bytes
expect_exit 0 sten-energy --diff odd.safetensors odd.auto
printf '\x93NUMPY\x01\x00\x46\x00%-69s\n%b' "{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }" "$F1$F0$F0$F0" >line.npy
expect_exit 0 sten-convert line.npy -o line.safetensors --to auto
expect_out 'to auto: 1 dense'
expect_exit 0 sten-energy line.npy
expect_out '75.00 %'
expect_exit 0 sten-energy --list line.npy

# auto has no parameters. The table of a report has the layouts, too.
expect_exit 2 sten-convert pruned.safetensors --dry-run --to auto:n=1
expect_one_line_err
expect_exit 0 sten-convert auto.safetensors --dry-run --to auto --report auto.csv
head -1 auto.csv | grep -q '^name,shape,dtype,from,to,' ||
  fail 'auto.csv lacks the columns from and to'
