# SPDX-License-Identifier: Apache-2.0
# Batches of inputs: each input is done, skipped or failed, and the summary counts them.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_safetensors.sh"
cd "$T"

# STEN_BATCH is the number of small checkpoints (default 40). One of them is corrupt.
n=${STEN_BATCH:-40}
mkdir in
for i in $(seq "$n"); do
  safetensors in/m$i.safetensors "{$(entry w.weight F32 2,2 0 16)}" "$F1$F2$F3$F4"
done
printf broken >in/m7.safetensors
expect_exit 1 sten-prune in/*.safetensors --out-dir done --sparsity 0.5 --keep-going
expect_one_line_err
expect_err "in/m7.safetensors: has 6 bytes"
expect_out "$n inputs: $((n - 1)) done, 1 failed"
[ "$(ls done | wc -l)" = $((n - 1)) ] || fail "expected $((n - 1)) outputs"
expect_exit 0 sten-prune in/m1.safetensors -o alone.safetensors --sparsity 0.5 -q
cmp alone.safetensors done/m1.safetensors ||
  fail "the output of a batch differs from that of a run with one input"

# Existing outputs: skipped with --skip-existing, an error by default, replaced with --force.
rm done/m3.safetensors
expect_exit 1 sten-prune in/*.safetensors --out-dir done --sparsity 0.5 --keep-going --skip-existing
expect_out "$n inputs: 1 done, 1 failed, $((n - 2)) skipped"
expect_exit 1 sten-prune in/m1.safetensors in/m2.safetensors --out-dir done --sparsity 0.5 --keep-going
expect_out "2 failed"
expect_exit 0 sten-prune in/m1.safetensors in/m2.safetensors --out-dir done --sparsity 0.5 --force --json
expect_out '"inputs": ['

# Without --keep-going the first failure ends the batch. A failed check gives exit code 3.
expect_exit 1 sten-prune in/m7.safetensors in/m8.safetensors --out-dir stop --sparsity 0.5 --threads 1
[ ! -e stop/m8.safetensors ] || fail "the batch continued after a failure"
expect_exit 3 sten-prune in/m8.safetensors in/m9.safetensors --out-dir checks --sparsity 0.5 --min-energy 0.9 --keep-going
expect_out "2 check failed"
[ -z "$(ls checks)" ] || fail "outputs of failed checks were left"

expect_exit 2 sten-prune in/m1.safetensors in/m2.safetensors -o x --sparsity 0.5
expect_err "2 inputs need --out-dir"
mkdir other && cp in/m1.safetensors other
expect_exit 2 sten-prune in/m1.safetensors other/m1.safetensors --out-dir twice --sparsity 0.5
expect_err "would both be written as 'm1.safetensors' (run them apart, each with its own --out-dir)"
# Files of one name, as on hubs: giving their directories instead avoids the clash.
mkdir hub-a hub-b
cp in/m1.safetensors hub-a/model.safetensors
cp in/m2.safetensors hub-b/model.safetensors
expect_exit 2 sten-prune hub-a/model.safetensors hub-b/model.safetensors --out-dir hubs --sparsity 0.5
expect_one_line_err
expect_err "would both be written as 'model.safetensors' (give the directories 'hub-a' and 'hub-b', or run them apart)"
[ ! -e hubs ] || fail "a rejected batch created its output directory"
expect_exit 0 sten-prune hub-a hub-b --out-dir hubs --sparsity 0.5
[ -s hubs/hub-a/model.safetensors ] && [ -s hubs/hub-b/model.safetensors ] ||
  fail "expected outputs for hub-a and hub-b, the directories that the error suggests"
# A hub cache has symbolic links to blobs: the output has the name of the link.
mkdir -p cache/blobs cache/snapshot
cp in/m1.safetensors cache/blobs/0a1b2c
ln -s ../blobs/0a1b2c cache/snapshot/model.safetensors
expect_exit 0 sten-prune cache/snapshot/model.safetensors --out-dir linked --sparsity 0.5
[ -s linked/model.safetensors ] ||
  fail "expected model.safetensors, the name of the link, got $(ls linked)"
expect_exit 2 sten-prune in/m1.safetensors --out-dir d -o x --sparsity 0.5
expect_exit 2 sten-prune in/m1.safetensors -o x --keep-going --sparsity 0.5
