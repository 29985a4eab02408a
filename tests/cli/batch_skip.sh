# SPDX-License-Identifier: Apache-2.0
# --skip-existing checks that an existing output was made from the same input, with the same options
# that affect its bytes.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_safetensors.sh"
cd "$T"

mkdir in
for i in 1 2 3; do
  safetensors in/m$i.safetensors "{$(entry w.weight F32 2,2 0 16)}" "$F1$F2$F3$F4"
done
prune() { sten-prune in/*.safetensors --out-dir done "$@"; }
expect_exit 0 prune --sparsity 0.5
cp -r done before
unchanged() { cmp done/m1.safetensors before/m1.safetensors || fail "done/m1.safetensors changed"; }

# Options that do not affect the bytes of an output are not compared.
expect_exit 0 prune --sparsity 0.5 --skip-existing --threads 1 --report r.json --min-energy 0.1
expect_out "3 inputs: 3 skipped"
if grep -q warning "$T/err"; then fail "skipping equal outputs gives a warning"; fi

# Outputs made with another option, program or input: the run is rejected before any work, and the
# error names the difference.
rm done/m3.safetensors
expect_exit 2 prune --sparsity 0.25 --skip-existing --keep-going
expect_one_line_err
expect_err "done/m1.safetensors: was made differently: options: expected sparsifier=magnitude:sparsity=0.25, got sparsifier=magnitude:sparsity=0.5; 1 more differ (--force replaces"
[ ! -e done/m3.safetensors ] || fail "a rejected run wrote done/m3.safetensors"
unchanged
expect_exit 2 sten-convert in/m1.safetensors --out-dir done --to csr --skip-existing
expect_err "program: expected sten-convert, got sten-prune"
safetensors in/m1.safetensors "{$(entry w.weight F32 2,2 0 16)}" "$F4$F2$F3$F1"
expect_exit 2 prune --sparsity 0.5 --skip-existing
expect_err "done/m1.safetensors: was made differently: input checksum: expected"
unchanged
expect_exit 2 prune --sparsity 0.5 --skip-existing --dry-run
expect_exit 0 prune --sparsity 0.25 --skip-existing=any
expect_out "3 inputs: 1 done, 2 skipped"
unchanged

# With --force only the outputs that differ are replaced.
touch -d 2001-01-01 done/m3.safetensors
expect_exit 0 prune --sparsity 0.25 --skip-existing --force
expect_out "3 inputs: 2 done, 1 skipped"
[ done/m3.safetensors -ot in/m3.safetensors ] || fail "an equal output was written again"
expect_exit 0 prune --sparsity 0.25 --skip-existing
expect_out "3 inputs: 3 skipped"

# Mask files are compared by their content.
expect_exit 0 sten-prune in/m1.safetensors -o x.safetensors --sparsity 0.5 --mask-out mask
expect_exit 0 sten-prune in/m1.safetensors --out-dir masked --mask mask
expect_exit 0 sten-prune in/m1.safetensors --out-dir masked --mask mask --skip-existing
expect_exit 2 sten-prune in/m1.safetensors --out-dir masked --mask mask --skip-existing --type bf16
expect_err 'type=BF16'
expect_exit 0 sten-prune in/m1.safetensors -o x.safetensors --sparsity 0.25 --mask-out mask --force
expect_exit 2 sten-prune in/m1.safetensors --out-dir masked --mask mask --skip-existing
expect_err "options: expected mask_checksum="

# Without a manifest, or if an output was changed since, nothing is compared, and a warning says so.
rm done/.sten-batch.json
expect_exit 0 prune --sparsity 0.75 --skip-existing
expect_out "3 inputs: 3 skipped"
expect_err "warning: done/m1.safetensors and 2 more: skipped without comparison, as .sten-batch.json has no current entry"
expect_exit 0 prune --sparsity 0.5 --force
cp in/m1.safetensors done/m1.safetensors
expect_exit 0 prune --sparsity 0.5 --skip-existing
expect_err "warning: done/m1.safetensors: skipped without comparison"

# Directories: the checksum covers every file that is copied.
mkdir hub
cp in/m1.safetensors hub/model.safetensors
echo '{}' >hub/config.json
expect_exit 0 sten-prune hub --out-dir hubs --sparsity 0.5
expect_exit 0 sten-prune hub --out-dir hubs --sparsity 0.5 --skip-existing
expect_out "1 inputs: 1 skipped"
if grep -q warning "$T/err"; then fail "skipping an equal directory gives a warning"; fi
echo '{"a": 1}' >hub/config.json
expect_exit 2 sten-prune hub --out-dir hubs --sparsity 0.5 --skip-existing
expect_err "input checksum"

# A .sten-batch.json that sten did not write is not replaced, and a symbolic link is not followed.
echo '{"mine": 1}' >hubs/.sten-batch.json
expect_exit 1 sten-prune hub --out-dir hubs --sparsity 0.5 --force
expect_err "hubs/.sten-batch.json: not a manifest: missing checksum"
[ "$(cat hubs/.sten-batch.json)" = '{"mine": 1}' ] ||
  fail "a .sten-batch.json that is not a manifest was replaced"
rm hubs/.sten-batch.json
echo text >victim
ln -s ../victim hubs/.sten-batch.json
expect_exit 1 sten-prune hub --out-dir hubs --sparsity 0.5 --force
expect_err "expected a regular file"
[ "$(cat victim)" = text ] || fail "the symbolic link .sten-batch.json was followed"
expect_exit 2 prune --sparsity 0.5 --skip-existing=all
expect_one_line_err

# A killed batch leaves a valid manifest: the next run skips the listed outputs and makes the rest.
for i in $(seq 4 60); do cp in/m2.safetensors in/m$i.safetensors; done
sten-prune in/*.safetensors --out-dir killed --sparsity 0.5 --threads 1 >"$T/out" 2>&1 &
pid=$!
until [ -e killed/.sten-batch.json ] || ! kill -0 $pid 2>/dev/null; do :; done
kill -9 $pid 2>/dev/null || true
wait $pid 2>/dev/null || true
expect_exit 0 sten-prune in/*.safetensors --out-dir killed --sparsity 0.5 --skip-existing
[ "$(find killed -name '*.safetensors' | wc -l)" = 60 ] ||
  fail "expected 60 outputs after the second run"
expect_exit 2 sten-prune in/*.safetensors --out-dir killed --sparsity 0.25 --skip-existing
