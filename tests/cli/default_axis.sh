# SPDX-License-Identifier: Apache-2.0
# The default axis depends on how a weight is stored, as [out, in] or as [in, out], so that the
# pattern of a layer is the same: GPT-2's Conv1D here, ONNX models in onnx.sh. All programs use the
# same default axis, and print it.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_safetensors.sh"
cd "$T"

# gpt FILE ROWS COLUMNS: writes c_attn of shape [ROWS, COLUMNS], and c_proj of shape [4, 4].
gpt() {
  local bytes=$((4 * $2 * $3))
  safetensors "$1" "{$(entry h.0.attn.c_attn.weight F32 $2,$3 0 $bytes),$(entry h.0.attn.c_proj.weight F32 4,4 \
    $bytes $((bytes + 64)))}" "$(repeat $(($2 * $3 + 16)) "$F1")"
}
mkdir conv1d linear
gpt conv1d/model.safetensors 4 12
gpt linear/model.safetensors 12 4

# other OUTPUT COMMAND...: COMMAND prints OUTPUT, which names the axis for [in, out] matrices.
# plain COMMAND...: COMMAND does not mention [in, out].
other() {
  local wanted=$1
  shift
  expect_exit 0 "$@"
  expect_out "$wanted"
}
plain() {
  expect_exit 0 "$@"
  if grep -q 'in, out' out err; then fail "'$*' treats the matrices as [in, out]"; fi
}
for input in conv1d conv1d/model.safetensors; do
  other 'nm runs down columns (axis 0) of 2 matrices [in, out]' sten-prune $input --dry-run --structure 2:4
  other 'nmg runs along rows (axis 1) of 2 matrices [in, out]' sten-prune $input --dry-run --structure 1:2:1
  other 'nmgv runs along rows (axis 1) of 2 matrices [in, out]' sten-prune $input --dry-run --structure 1:2:1:2
  other 'nm runs down columns (axis 0) of 2 matrices [in, out]' sten-prune $input --dry-run --rule '*=2:4'
  other 'nm runs down columns (axis 0) of 2 matrices [in, out]' sten-convert $input --dry-run --to nm:n=2,m=4
  other 'the other axis for 2 matrices [in, out]' sten-energy $input --sweep
  # An explicit axis overrides the default, and pruning to a sparsity has no axis.
  other 'nm runs down columns (axis 0)' sten-prune $input --dry-run --structure 2:4@0
  other 'nm runs along rows (axis 1)' sten-prune $input --dry-run --structure 2:4@1
  plain sten-prune $input --dry-run --sparsity 0.5
  plain sten-energy $input --sweep --axis 0
done
# nn.Linear weights with the names of GPT-2: config.json tells them apart, or else the shape.
plain sten-prune linear --dry-run --structure 2:4
echo '{"model_type": "gpt2"}' >linear/config.json
other 'of 2 matrices [in, out]' sten-prune linear --dry-run --structure 2:4
echo '{"model_type": "gpt_bigcode"}' >conv1d/config.json
plain sten-prune conv1d --dry-run --structure 2:4
echo '{"model_type": ' >conv1d/config.json
other 'of 2 matrices [in, out]' sten-prune conv1d --dry-run --structure 2:4
rm conv1d/config.json

# --require has the same default axis as --structure, and the stored layout records the axis.
columns="$F1$F2$F3$F4$F4$F3$F2$F1" # of shape [4, 2]: 1 2 / 3 4 / 4 3 / 2 1
mkdir turned
safetensors turned/model.safetensors "{$(entry h.0.attn.c_attn.weight F32 4,12 0 192),$(entry \
  h.0.mlp.c_fc.weight F32 4,2 192 224)}" "$(repeat 48 "$F1")$columns"
for structure in 2:4 1:2:1 1:2:1:2; do
  expect_exit 0 sten-prune turned -o turned.${structure//:/-} --structure $structure --to auto -q
  expect_exit 0 sten-energy turned.${structure//:/-} --require "*=$structure"
done
expect_exit 0 sten-prune turned -o turned.nm --structure 2:4 --to nm
expect_exit 0 sten-energy turned.nm --json
expect_out '"layout": "nm:n=2,m=4,axis=0"'
expect_exit 0 sten-prune turned -o turned.dense --structure 2:4
expect_exit 0 sten-energy turned.dense --require '*=2:4'
expect_exit 3 sten-energy turned.dense --require '*=2:4@1'
expect_exit 0 sten-prune turned -o turned.rows --structure 2:4@1
expect_exit 0 sten-energy turned.rows --require '*=2:4@1'
expect_exit 3 sten-energy turned.rows --require '*=2:4'

# The axis is printed, and --sweep has the same default axes as sten-prune.
plain sten-prune "$MODEL" --dry-run --structure 2:4
expect_out 'nm runs along rows (axis 1)'
plain sten-prune "$MODEL" --dry-run --structure 1:10:4
expect_out 'nmg runs down columns (axis 0)'
few='--include bert.encoder.layer.0.attention.self.key.weight'
energy() { sed -n "s/^ *\"energy\": \([0-9.]*\).*/\1/p" out | tail -n 1; }
for structure in 2:4 1:10:4; do
  expect_exit 0 sten-prune "$MODEL" $few --dry-run --structure $structure --json
  wanted=$(energy)
  expect_exit 0 sten-energy "$MODEL" $few --sweep --json
  grep -qF "\"energy\": $wanted" out || fail "the sweep lacks the energy $wanted of $structure"
done
expect_out '"axis": {'
expect_exit 0 sten-energy "$MODEL" $few --sweep
expect_out 'n:m along rows (axis 1), n:m:g down columns (axis 0)'
expect_exit 0 sten-energy "$MODEL" $few --sweep --axis 0
expect_out 'n:m and n:m:g down columns (axis 0)'
