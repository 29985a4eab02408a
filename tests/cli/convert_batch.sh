# SPDX-License-Identifier: Apache-2.0
# sten-convert accepts batches of inputs, as sten-prune does.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_safetensors.sh"
cd "$T"

mkdir in
for i in 1 2 3; do
  safetensors in/m$i.safetensors "{$(entry w.weight F32 2,2 0 16)}" "$F1$F0$F3$F4"
done
printf broken >in/m2.safetensors
expect_exit 1 sten-convert in/*.safetensors --out-dir done --to csr --keep-going
expect_one_line_err
expect_err "in/m2.safetensors: has 6 bytes"
expect_out "3 inputs: 2 done, 1 failed"
[ "$(ls done | wc -l)" = 2 ] || fail "expected 2 outputs"
expect_exit 0 sten-convert in/m1.safetensors -o alone.safetensors --to csr -q
cmp alone.safetensors done/m1.safetensors ||
  fail "the output of a batch differs from that of a run with one input"

rm done/m3.safetensors
expect_exit 0 sten-convert in/m1.safetensors in/m3.safetensors --out-dir done --to csr --skip-existing
expect_out "2 inputs: 1 done, 1 skipped"
expect_exit 1 sten-convert in/m1.safetensors in/m3.safetensors --out-dir done --to csr --keep-going
expect_out "2 failed"
expect_exit 0 sten-convert in/m1.safetensors in/m3.safetensors --out-dir done --to bitmask --force --json -v
expect_out '"inputs": ['
expect_out '"sparsity": 0.25,'
expect_out '"bytes_after": 13'
expect_err 'sten-convert: in/m3.safetensors: selected w.weight'

# Without --keep-going the first failure ends the batch. A failed check names the input.
expect_exit 1 sten-convert in/m2.safetensors in/m3.safetensors --out-dir stop --to csr --threads 1
[ ! -e stop/m3.safetensors ] || fail "the batch continued after a failure"
expect_exit 3 sten-convert in/m1.safetensors in/m3.safetensors --out-dir checks --to nm:n=1,m=2 --lossless --keep-going
expect_out "2 check failed"
expect_err "sten-convert: in/m1.safetensors: 'w.weight': nm:n=1,m=2 would drop the nonzero at [1, 0]"
[ -z "$(ls checks)" ] || fail "outputs of failed checks were left"

# Inputs can be directories. An error that does not depend on the input is reported once.
mkdir dir
safetensors dir/model.safetensors "{$(entry w.weight F32 2,2 0 16)}" "$F1$F0$F3$F4"
expect_exit 0 sten-convert dir in/m1.safetensors --out-dir both --to bitmask -q
[ -d both/dir ] && [ -f both/m1.safetensors ] ||
  fail "expected the outputs both/dir and both/m1.safetensors, named after the inputs"
expect_exit 2 sten-convert in/m1.safetensors in/m3.safetensors --out-dir d --to bitmusk --keep-going
expect_err "did you mean 'bitmask'"
expect_one_line_err
expect_exit 2 sten-convert in/m1.safetensors in/m3.safetensors -o x --to csr
expect_err "2 inputs need --out-dir"
expect_exit 2 sten-convert in/m1.safetensors -o x --out-dir d --to csr
expect_err "-o and --out-dir exclude each other"
expect_exit 2 sten-convert in/m1.safetensors -o x --keep-going --to csr
expect_err "belong to --out-dir"
expect_exit 2 sten-convert in/m1.safetensors ../in/m1.safetensors --out-dir d --to csr
expect_exit 2 sten-convert in/m1.safetensors --out-dir in --to csr --force
expect_err "is the input"
expect_exit 0 sten-convert in/m1.safetensors in/m3.safetensors --out-dir none --to csr --dry-run
[ ! -e none ] || fail "a dry run created the output directory"
