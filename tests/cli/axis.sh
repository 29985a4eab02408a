# GPT-2's Conv1D has [in, out]: n:m along rows runs over outputs there, and is warned about. sten-prune and the sweep
# have the same default axis, and name it.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_safetensors.sh"
cd "$T"

# gpt FILE ROWS COLUMNS: c_attn of this shape, and c_proj of 4x4.
gpt() {
  local bytes=$((4 * $2 * $3))
  safetensors "$1" "{$(entry h.0.attn.c_attn.weight F32 $2,$3 0 $bytes),$(entry h.0.attn.c_proj.weight F32 4,4 \
    $bytes $((bytes + 64)))}" "$(repeat $(($2 * $3 + 16)) "$F1")"
}
mkdir conv1d linear
gpt conv1d/model.safetensors 4 12
gpt linear/model.safetensors 12 4

warned="2 tensors, such as 'h.0.attn.c_attn.weight', are [in, out], as GPT-2's Conv1D has them"
# warns COMMAND..., silent COMMAND...
warns() {
  expect_exit 0 "$@"
  expect_err "$warned"
}
silent() {
  expect_exit 0 "$@"
  if grep -q 'in, out' err; then fail "'$*' warns"; fi
}
for input in conv1d conv1d/model.safetensors; do
  warns sten-prune $input --dry-run --structure 2:4
  expect_err 'nm runs along rows (axis 1) by default, which suits [out, in]; add axis=0'
  warns sten-prune $input --dry-run --structure 1:2:1
  expect_err 'nmg runs down columns (axis 0) by default, which suits [out, in]; add axis=1'
  warns sten-prune $input --dry-run --structure 1:2:1:2
  expect_err 'nmgv runs down columns (axis 0) by default, which suits [out, in]; exchange v and w; add axis=1'
  warns sten-prune $input --dry-run --rule '*=2:4'
  warns sten-convert $input --dry-run --to nm:n=2,m=4
  warns sten-energy $input --sweep
  # Whoever says which axis knows; and magnitudes have none.
  silent sten-prune $input --dry-run --structure 2:4@0
  silent sten-prune $input --dry-run --structure 2:4@1
  silent sten-prune $input --dry-run --sparsity 0.5
  silent sten-energy $input --sweep --axis 0
done
# The same names as nn.Linear: the shape says so, unless config.json does.
silent sten-prune linear --dry-run --structure 2:4
echo '{"model_type": "gpt2"}' >linear/config.json
warns sten-prune linear --dry-run --structure 2:4
echo '{"model_type": "gpt_bigcode"}' >conv1d/config.json
silent sten-prune conv1d --dry-run --structure 2:4
echo '{"model_type": ' >conv1d/config.json
warns sten-prune conv1d --dry-run --structure 2:4

# The axis is named, and the sweep has those of sten-prune.
silent sten-prune "$MODEL" --dry-run --structure 2:4
expect_out 'nm runs along rows (axis 1)'
silent sten-prune "$MODEL" --dry-run --structure 1:10:4
expect_out 'nmg runs down columns (axis 0)'
few='--include bert.encoder.layer.0.attention.self.key.weight'
energy() { sed -n "s/^ *\"energy\": \([0-9.]*\).*/\1/p" out | tail -n 1; }
for structure in 2:4 1:10:4; do
  expect_exit 0 sten-prune "$MODEL" $few --dry-run --structure $structure --json
  wanted=$(energy)
  expect_exit 0 sten-energy "$MODEL" $few --sweep --json
  grep -qF "\"energy\": $wanted" out || fail "the sweep has no energy $wanted of $structure"
done
expect_out '"axis": {'
expect_exit 0 sten-energy "$MODEL" $few --sweep
expect_out 'n:m along rows (axis 1), n:m:g down columns (axis 0)'
expect_exit 0 sten-energy "$MODEL" $few --sweep --axis 0
expect_out 'n:m and n:m:g down columns (axis 0)'
