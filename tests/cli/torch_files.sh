# SPDX-License-Identifier: Apache-2.0
# Files of torch.save() are checkpoints; their outputs are safetensors.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_safetensors.sh"
cd "$T"
saved=$STEN_SOURCE/tests/pytorch/torch
files() { (cd "$1" && find . -type f ! -name '.*' | sed 's|^./||' | LC_ALL=C sort | tr '\n' ' '); }
has() { [ "$(files "$1")" = "$2 " ] || fail "$1 has other files: $(files "$1")"; }

cp "$saved/parameters.pt" model.pt
expect_exit 0 sten-energy model.pt --list
expect_out 'nested.list.1'
expect_exit 0 sten-prune model.pt -o pruned.safetensors --include w --sparsity 0.5
expect_out 'pruned 1 of 3 tensors'
expect_exit 0 sten-energy pruned.safetensors --include w --against model.pt --require 'w=2:4'
# 2 and 3 stay of [0, 1, 2, 3]; what was not chosen is there byte for byte.
expect_exit 3 sten-energy --diff pruned.safetensors model.pt
expect_out '1 of 3'
grep -q '"format":"pt"' pruned.safetensors || fail 'transformers would not load it'
expect_exit 0 sten-convert model.pt -o all.safetensors --to dense -q
expect_exit 0 sten-energy --diff all.safetensors model.pt
expect_exit 2 sten-prune model.pt -o other.pt --sparsity 0.5 --include w
expect_one_line_err
expect_exit 0 sten-prune --help

# Its name as safetensors.
mkdir there
expect_exit 0 sten-prune model.pt -o there/ --sparsity 0.5 --include w -q
has there model.safetensors
expect_exit 0 sten-prune model.pt --out-dir batch --sparsity 0.5 --include w -q
has batch model.safetensors

# Views and tied tensors come out in full, and are named.
expect_exit 0 sten-convert "$saved/state.pt" -o state.safetensors --to dense
expect_err "state.pt: 'transposed' and 'columns' and 2 more pairs share memory; a copy has each of them in full"
expect_exit 0 sten-energy --diff state.safetensors "$saved/state.pt"

# A directory as transformers wrote it before safetensors, whole and in shards.
mkdir one shards
cp "$saved/parameters.pt" one/pytorch_model.bin
echo '{}' | tee one/config.json >shards/config.json
cp "$saved/parameters.pt" shards/pytorch_model-00001-of-00002.bin
cp "$saved/tensor.pt" shards/pytorch_model-00002-of-00002.bin
cat >shards/pytorch_model.bin.index.json <<'INDEX'
{"metadata": {"total_size": 52}, "weight_map": {
  "w": "pytorch_model-00001-of-00002.bin", "nested.list.0": "pytorch_model-00001-of-00002.bin",
  "nested.list.1": "pytorch_model-00001-of-00002.bin", "tensor": "pytorch_model-00002-of-00002.bin"}}
INDEX
expect_exit 0 sten-prune one -o one.out --sparsity 0.5 --include w -q
has one.out 'config.json model.safetensors'
expect_exit 0 sten-prune shards -o shards.out --sparsity 0.5 --include w --include tensor -q
has shards.out 'config.json model-00001-of-00002.safetensors model-00002-of-00002.safetensors model.safetensors.index.json'
grep -q '"tensor": "model-00002-of-00002.safetensors"' shards.out/model.safetensors.index.json ||
  fail 'the index names other files'
expect_exit 0 sten-energy shards.out --include w --include tensor --against shards --min-sparsity 0.5
expect_exit 0 sten-convert shards.out -o compressed --to csr --include w -q
has compressed 'config.json model.sten-00001-of-00002.safetensors model.sten-00002-of-00002.safetensors model.sten.safetensors.index.json'

# docs/models.md: to n:m:g and back.
cp "$saved/trainer.ckpt" pytorch_model.bin
sed -n '/^```$/,/^```$/p' "$STEN_SOURCE/docs/models.md" | grep '^sten-[a-z]* \(pytorch_model\|pruned\|small\)\.' >lines
[ "$(wc -l <lines)" = 3 ] || fail 'docs/models.md has another example'
rm -f pruned.safetensors
expect_exit 0 sh -e lines
expect_exit 0 sten-energy --diff dense.safetensors pruned.safetensors

# Of a trainer's file the model is read.
expect_exit 0 sten-energy "$saved/trainer.ckpt" --list
expect_err "only the tensors of 'state_dict' are read, not 12 others"
expect_out '0.weight'

# Nothing is called, and one line says what a file would need.
for name in module sparse complex128; do
  expect_exit 1 sten-prune "$saved/$name.pt" -o out.safetensors --sparsity 0.5
  expect_one_line_err
  [ ! -e out.safetensors ] || fail 'an output of what was refused'
done
printf '\200\002cos\nsystem\nU\007touch ownedq\0\205R.' >evil.pkl
printf '\200\002\212\012\154\374\234\106\371\040\152\250\120\031.\200\002M\351\003.\200\002}.' | cat - evil.pkl >evil.pt
held 97 expect_exit 1 sten-energy evil.pt
expect_err "the pickle needs 'os.system'"
[ ! -e owned ] || fail 'the file ran a command'
