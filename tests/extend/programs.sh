# SPDX-License-Identifier: Apache-2.0
# The programs linked with a user-defined layout and sparsifier.
#   tests/extend/programs.sh DIRECTORY_OF_THESE_PROGRAMS
plain=${STEN_BIN-}
STEN_BIN=$1
. "$(dirname "$0")/../cli/_lib.sh"
. "$(dirname "$0")/../cli/_safetensors.sh"

cd "$T"
# 1 2 0
# 0 3 4
safetensors in.safetensors "{$(entry w.weight F32 2,3 0 24)}" "$F1$F2$F0$F0$F3$F4"

for program in sten-prune sten-convert sten-energy sten-bench; do
  expect_exit 0 $program --help
  expect_out 'Added here: layouts banded:k=1; sparsifiers band:k=1, row-share:of=0.5'
done
expect_exit 0 sten-prune-manual bash-completion completion
grep -qE "words='banded bcsr [a-z ]* auto'" completion ||
  fail 'the completion of --to lacks banded'
grep -qE "words='unstructured nm: [a-z: ]*banded:'" completion || fail 'the completion of --structure lacks banded'

# Converting to the layout and back preserves the values.
expect_exit 0 sten-convert in.safetensors -o banded.safetensors --to banded:k=1
header banded.safetensors | grep -qF '"w.weight::values":{"dtype":"F32","shape":[2,3]' ||
  fail 'the file lacks the part w.weight::values'
header banded.safetensors | grep -qF '{\"layout\":\"banded:k=1\",\"shape\":[2,3],\"dtype\":\"F32\"}' ||
  fail 'the metadata do not describe the layout'
expect_exit 0 sten-energy banded.safetensors --against in.safetensors --min-energy 1
expect_out 'banded 1 24 B'
expect_exit 0 sten-energy in.safetensors --require 'w.weight=banded:k=1' --json
expect_out '"bytes_banded": 24'
expect_exit 3 sten-energy in.safetensors --require 'w.weight=banded:k=0'
expect_err "'w.weight': banded:k=0 has no slot for 2 of the 4 kept positions"
expect_exit 2 sten-energy in.safetensors --require 'w.weight=csr'
expect_err 'expected nm or '
expect_err 'or banded'
for to in dense csr bcsr:h=2,w=2; do
  expect_exit 0 sten-convert banded.safetensors -o other.safetensors --to $to --force
  expect_exit 0 sten-convert other.safetensors -o dense.safetensors --to dense --force
  data in.safetensors >wanted
  data dense.safetensors | cmp - wanted || fail "the tensor changed in a conversion through $to"
  expect_exit 0 sten-convert other.safetensors -o back.safetensors --to banded:k=1 --force
  data banded.safetensors >wanted
  data back.safetensors | cmp - wanted ||
    fail "the banded tensor changed in a conversion through $to"
done

# Pruning with the sparsifier, stored in the layout.
expect_exit 0 sten-prune in.safetensors -o pruned.safetensors --rule '*=row-share:of=1' --to banded:k=1
expect_exit 0 sten-convert pruned.safetensors -o dense.safetensors --to dense --force
data dense.safetensors >got
printf '%b' "$F0$F2$F0$F0$F0$F4" | cmp - got || fail 'pruning with row-share gives different values'
expect_exit 0 sten-energy pruned.safetensors --against in.safetensors --min-energy 0.59

# Pruning to the layout with its own sparsifier.
printf '%b' "$F1$F0$F0$F0$F3$F0" >wanted
expect_exit 0 sten-convert in.safetensors -o pruned.safetensors --to banded:k=0 --force
expect_out 'band'
for to in auto banded dense; do
  expect_exit 0 sten-prune in.safetensors -o pruned.safetensors --structure banded:k=0 --to $to --force
  expect_exit 0 sten-convert pruned.safetensors -o dense.safetensors --to dense --force
  data dense.safetensors | cmp - wanted ||
    fail "pruning to a band with --to $to gives different values"
done
expect_exit 0 sten-prune in.safetensors -o pruned.safetensors --rule '*=banded:k=0' --to auto --force
expect_exit 0 sten-energy pruned.safetensors --require 'w.weight=banded:k=0'
expect_exit 3 sten-convert in.safetensors -o none.safetensors --to banded:k=0 --lossless
expect_one_line_err
expect_err 'banded:k=0 would drop the nonzero at [0, 1]'
expect_exit 2 sten-prune in.safetensors -o none.safetensors --structure banded:k=0 --sparsity 0.5
expect_err '--sparsity and --structure banded:k=0 exclude each other'
expect_exit 2 sten-prune in.safetensors -o none.safetensors --structure bandet:k=0
expect_err "did you mean 'banded'?"

# sten-bench measures the layout.
expect_exit 0 sten-bench convert --shape 16x24 --layouts banded:k=2 --repeats 1
expect_out 'banded:k=2'
expect_exit 0 sten-bench gemm --shape 16x24x32 --layouts banded:k=2 --repeats 1
expect_out 'banded:k=2'

# Invalid parameters and invalid files.
expect_exit 2 sten-convert in.safetensors -o none.safetensors --to banded:m=1
expect_one_line_err
expect_err "'banded' has no key 'm'"
expect_exit 2 sten-prune in.safetensors -o none.safetensors --rule '*=row-share:of=2'
expect_one_line_err
sparse bad.safetensors banded:k=1 2,3 "$(part values F32 2,3 0 24)" "$F1$F2$F0$F0$F3$F4"
refused 'slot 0 is beyond the tensor but not 0'
sparse bad.safetensors banded:k=4611686018427387904 2,3 "$(part values F32 2,3 0 24)" "$F1$F2$F0$F0$F3$F4"
refused 'no band of k=4611686018427387904'

# Programs without the extension say that the file needs an extension.
if [ -n "$plain" ]; then
  PATH=$plain:$PATH
  expect_exit 1 sten-energy banded.safetensors
  expect_one_line_err
  expect_err "unknown layout 'banded' (a layout of an extension needs --load EXT.so or a program that registers 'banded'"
fi
