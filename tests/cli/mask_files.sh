# SPDX-License-Identifier: Apache-2.0
# Mask files are written and read, --nan sets how NaN is handled, and a global threshold covers all
# tensors.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_safetensors.sh"
cd "$T"

# The masks of one run applied to the original give the same model.
expect_exit 0 sten-prune "$MODEL" -o a.safetensors --sparsity 0.9 --scope global --mask-out masks.safetensors -q
expect_exit 0 sten-prune "$MODEL" -o b.safetensors --mask masks.safetensors -q
data a.safetensors >a.data && data b.safetensors >b.data
cmp a.data b.data || fail "the masks gave different values"
header masks.safetensors | grep -q '"cls.predictions.transform.dense.weight":{"dtype":"BOOL","shape":\[160,160\]' ||
  fail "a mask is not BOOL of the tensor's shape"
expect_exit 0 sten-prune "$MODEL" --dry-run --mask masks.safetensors --include 'bert.encoder.layer.0.*' --summary
expect_out "pruned 6 of 74 tensors"

# Masks that do not match the tensors are rejected.
w="$(entry w F32 2,2 0 16)"
safetensors w.safetensors "{$w}" "$F1$F2$F3$F4"
refuse_mask() { # TEXT HEADER DATA
  safetensors m.safetensors "$2" "$3"
  expect_exit 1 sten-prune w.safetensors -o o.safetensors --mask m.safetensors
  expect_err "$1"
  expect_one_line_err
  [ ! -e o.safetensors ] || fail "the rejected run left an output"
}
refuse_mask "has shape [4], but the tensor has [2, 2]" "{$(entry w BOOL 4 0 4)}" '\x01\x00\x01\x00'
refuse_mask "expected BOOL or U8, got I8" "{$(entry w I8 2,2 0 4)}" '\x01\x00\x01\x00'
refuse_mask "element 2 must be 0 or 1, got 7" "{$(entry w U8 2,2 0 4)}" '\x01\x00\x07\x00'
refuse_mask "element 2 must be 0 or 1, got 7" "{$(entry w BOOL 2,2 0 4)}" '\x01\x00\x07\x00'
refuse_mask "mask 'v': tensor not found" "{$(entry v BOOL 2,2 0 4)}" '\x01\x00\x01\x00'
# A weights file given as masks, and a mask file given as weights: the error names the mask file.
refuse_mask "sten-prune: m.safetensors: mask 'w': expected BOOL or U8, got F32" "{$w}" "$F1$F2$F3$F4"
expect_exit 2 sten-prune masks.safetensors -o o.safetensors --sparsity 0.5
expect_err "masks.safetensors: expected weights, got masks of BOOL (--mask takes masks)"
safetensors m.safetensors "{$(entry w BOOL 2,2 0 4)}" '\x01\x00\x01\x00'
expect_exit 2 sten-prune w.safetensors -o o.safetensors --mask m.safetensors --sparsity 0.5
expect_err "--mask excludes --sparsity"
expect_exit 0 sten-prune w.safetensors -o bool.safetensors --mask m.safetensors -q
safetensors m.safetensors "{$(entry w U8 2,2 0 4)}" '\x01\x00\x01\x00'
expect_exit 0 sten-prune w.safetensors -o o.safetensors --mask m.safetensors -q
cmp o.safetensors bool.safetensors ||
  fail "a U8 mask gives a different output than the same BOOL mask"
[ "$(data o.safetensors | od -An -tx1 | tr -d ' \n')" = "0000803f000000000000404000000000" ] ||
  fail "the mask kept the wrong values"

# NaN is rejected by default, kept with --nan keep, and set to zero with --nan zero.
nan='\x00\x00\xc0\x7f'
safetensors nan.safetensors "{$(entry a.weight F32 2,2 0 16)}" "$F1$nan$F3$F4"
expect_exit 1 sten-prune nan.safetensors -o n.safetensors --sparsity 0.5
expect_err "'a.weight': element 1 is not finite"
expect_exit 0 sten-prune nan.safetensors -o n.safetensors --sparsity 0.5 --nan keep -q
[ "$(data n.safetensors | od -An -tx1 | tr -d ' \n')" = "000000000000c07f0000000000008040" ] ||
  fail "--nan keep kept the wrong values"
expect_exit 0 sten-prune nan.safetensors -o z.safetensors --sparsity 0.5 --nan zero -q
[ "$(data z.safetensors | od -An -tx1 | tr -d ' \n')" = "00000000000000000000404000008040" ] ||
  fail "--nan zero kept the wrong values"
expect_exit 2 sten-prune nan.safetensors --dry-run --sparsity 0.5 --nan zeros
expect_err "did you mean 'zero'"

# Global threshold: of equal magnitudes those of the last tensor in natural order are pruned first,
# tied tensors count once, and dtypes may differ.
header="{$(entry l.10.weight F32 1,2 0 8),$(entry l.2.weight F32 1,2 8 16),$(entry l.3.weight F16 1,2 16 20)}"
safetensors g.safetensors "$header" "$F1$F2$F1$F1\x00\x3c\x00\x40"
expect_exit 0 sten-prune g.safetensors -o o2.safetensors --sparsity 0.34 --scope global --summary -f
expect_out "one threshold: 2 of the 6 weights of 3 tensors removed"
[ "$(data o2.safetensors | od -An -tx1 | tr -d ' \n')" = "00000000000000400000803f0000803f00000040" ] ||
  fail "of equal magnitudes the wrong ones were pruned"
header="{$(entry a.weight F32 1,2 0 8),$(entry b.weight F32 1,2 8 16),$(entry c.weight F32 1,2 16 24)}"
safetensors t.safetensors "$header" "$F1$F4$F1$F4$F2$F3"
expect_exit 0 sten-prune t.safetensors -o o3.safetensors --sparsity 0.5 --scope global --summary
expect_out "'a.weight' and 'b.weight' are probably tied"
expect_out "2 of the 4 weights of 2 tensors removed"
header="{$(entry a.weight F32 1,2 0 8),$(entry b.weight F32 1,2 8 16),$(entry c.weight F32 1,2 16 24)}"
safetensors three.safetensors "$header" "$F1$F4$F1$F4$F1$F4"
expect_exit 0 sten-prune three.safetensors --dry-run --sparsity 0.5 --summary
expect_out "'a.weight' and 'b.weight', and 1 more pair, are probably tied: their values are the same"
[ "$(grep -c tied "$T/out")" = 1 ] || fail "expected one note for all tied tensors"
expect_exit 2 sten-prune g.safetensors --dry-run --scope global --structure nm:n=2,m=4
expect_exit 2 sten-prune g.safetensors --dry-run --scope globall --sparsity 0.5
expect_err "did you mean 'global'"
