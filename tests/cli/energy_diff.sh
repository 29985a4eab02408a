# SPDX-License-Identifier: Apache-2.0
# --diff reports tensors that only one of the two files has, and tensors whose shape, dtype or
# values differ.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_safetensors.sh"
cd "$T"

nan='\x00\x00\xc0\x7f' minus0='\x00\x00\x00\x80'
safetensors a.safetensors "{$(entry l.10.w F32 2,2 0 16),$(entry l.2.w F32 1,2 16 24),
  $(entry gone F32 2 24 32),$(entry shape F32 2 32 40),$(entry type F32 2 40 48),
  $(entry same F32 2 48 56),$(entry ids I64 1 56 64),$(entry nan F32 2 64 72),$(entry packed F4 2 72 73)}" \
  "$F1$F2$F3$F4$F0$F1$F1$F1$F1$F1$F1$F2$F0$nan\x01\x00\x00\x00\x00\x00\x00\x00$nan$F1\x21"
safetensors b.safetensors "{$(entry l.10.w F32 2,2 0 16),$(entry l.2.w F32 1,2 16 24),
  $(entry new F32 2 24 32),$(entry shape F32 1,2 32 40),$(entry type BF16 2 40 44),
  $(entry same F32 2 44 52),$(entry ids I64 1 52 60),$(entry nan F32 2 60 68),$(entry packed F4 2 68 69)}" \
  "$F1$F0$F3$F1$F2$F1$F1$F1$F1$F1\x80\x3f\x00\x40$minus0$nan\x03\x00\x00\x00\x00\x00\x00\x00$F1$F1\x31"
expect_exit 3 sten-energy --diff a.safetensors b.safetensors
golden energy_diff
expect_one_line_err
expect_err "9 of 10 tensors differ: 1 dtype; 1 only in A; 1 only in B; 1 shape; 5 values; the first is 'gone'"
expect_exit 3 sten-energy b.safetensors --diff a.safetensors --include 'l.*' --json -q
expect_out '"ok": false'
# l.10.w changed from 1 0 3 1 to 1 2 3 4.
expect_out '"max_difference": 3.0,'
expect_out '"relative_norm": 1.08'
expect_out '"from_zero": 1'
expect_exit 3 sten-energy --diff a.safetensors b.safetensors --include new
expect_exit 0 sten-energy --diff a.safetensors b.safetensors --exclude '*.w,gone,new,shape,type,ids,nan,packed' --json
expect_out '"compared": 1,'
expect_out '"different": 0,'
expect_out '"ok": true'
expect_exit 2 sten-energy --diff a.safetensors b.safetensors --include nothing
expect_err "matches none of the 10 tensors of a.safetensors and b.safetensors"

# Tensors that differ only in their layout are equal; changed values are a difference.
expect_exit 0 sten-prune "$MODEL" -o dense.safetensors --sparsity 0.9 -q
expect_exit 0 sten-convert dense.safetensors -o csr.safetensors --to csr -q
expect_exit 0 sten-energy --diff dense.safetensors csr.safetensors
expect_out '0 of 74 tensors differ'
expect_out '25 equal tensors have another layout in B'
expect_exit 3 sten-energy --diff "$MODEL" - --summary <csr.safetensors
expect_out '25 of 74 tensors differ: 25 values'

# Sparse tensors are compared without a conversion to dense, where they would have 10^10 elements.
meta='\"layout\":\"coo\",\"shape\":[100000,100000],\"dtype\":\"F32\"'
coo() { # FILE COLUMN VALUE: 1 at [5, 6] and VALUE at [7, COLUMN]
  safetensors $1 "{\"__metadata__\":{\"sten:w\":\"{$meta}\"},$(entry w::row I32 2 0 8),
    $(entry w::col I32 2 8 16),$(entry w::values F32 2 16 24)}" "\x05\x00\x00\x00\x07\x00\x00\x00\x06\x00\x00\x00$2\x00\x00\x00$F1$3"
}
coo x.safetensors '\x08' "$F2"
coo y.safetensors '\x09' "$F4"
expect_exit 0 sten-energy --diff x.safetensors x.safetensors
expect_exit 3 sten-energy --diff x.safetensors y.safetensors --json
expect_out '"changed": 2,'
expect_out '"to_zero": 1,'
expect_out '"from_zero": 1'
expect_exit 0 sten-energy --list x.safetensors
expect_out '100000x100000'

expect_exit 2 sten-energy --diff a.safetensors
expect_err '--diff: expected 2 inputs, got 1'
expect_exit 2 sten-energy --diff a.safetensors b.safetensors x.safetensors
expect_exit 2 sten-energy --diff - -
expect_exit 2 sten-energy --diff a.safetensors b.safetensors --min-sparsity 0.5
expect_err '--diff excludes'
expect_exit 1 sten-energy --diff a.safetensors missing
expect_one_line_err
