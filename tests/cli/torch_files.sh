# SPDX-License-Identifier: Apache-2.0
# Files written by torch.save() are read as checkpoints; outputs are safetensors files.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_safetensors.sh"
cd "$T"
saved=$STEN_SOURCE/tests/pytorch/torch
files() { (cd "$1" && find . -type f ! -name '.*' | sed 's|^./||' | LC_ALL=C sort | tr '\n' ' '); }
has() { [ "$(files "$1")" = "$2 " ] || fail "$1: expected the files $2, got $(files "$1")"; }

cp "$saved/parameters.pt" model.pt
expect_exit 0 sten-energy model.pt --list
expect_out 'nested.list.1'
expect_exit 0 sten-prune model.pt -o pruned.safetensors --include w --sparsity 0.5
expect_out 'pruned 1 of 3 tensors'
expect_exit 0 sten-energy pruned.safetensors --include w --against model.pt --require 'w=2:4'
# Pruning keeps 2 and 3 of [0, 1, 2, 3] and leaves the unselected tensors unchanged.
expect_exit 3 sten-energy --diff pruned.safetensors model.pt
expect_out '1 of 3'
grep -q '"format":"pt"' pruned.safetensors ||
  fail 'transformers would not load a file without format pt in the metadata'
expect_exit 0 sten-convert model.pt -o all.safetensors --to dense -q
expect_exit 0 sten-energy --diff all.safetensors model.pt
expect_exit 2 sten-prune model.pt -o other.pt --sparsity 0.5 --include w
expect_one_line_err

# An output in a directory is named after the input, with the extension .safetensors.
mkdir there
expect_exit 0 sten-prune model.pt -o there/ --sparsity 0.5 --include w -q
has there model.safetensors
expect_exit 0 sten-prune model.pt --out-dir batch --sparsity 0.5 --include w -q
has batch model.safetensors

# Views and tied tensors are stored in full, and a message names them.
expect_exit 0 sten-convert "$saved/state.pt" -o state.safetensors --to dense
expect_err "state.pt: 'transposed' and 'columns' and 2 more pairs share memory; a copy has each of them in full"
expect_exit 0 sten-energy --diff state.safetensors "$saved/state.pt"

# Directories in the format that transformers used before safetensors, unsharded and sharded.
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
  fail 'the index does not name the safetensors shards'
expect_exit 0 sten-energy shards.out --include w --include tensor --against shards --min-sparsity 0.5
expect_exit 0 sten-convert shards.out -o compressed --to csr --include w -q
has compressed 'config.json model.sten-00001-of-00002.safetensors model.sten-00002-of-00002.safetensors model.sten.safetensors.index.json'

# The example of docs/models.md: pruning to n:m:g, conversion to n:m:g and back to dense.
cp "$saved/trainer.ckpt" pytorch_model.bin
sed -n '/^```$/,/^```$/p' "$STEN_SOURCE/docs/models.md" | grep '^sten-[a-z]* \(pytorch_model\|pruned\|small\)\.' >lines
[ "$(wc -l <lines)" = 3 ] || fail 'docs/models.md: expected an example of three commands'
rm -f pruned.safetensors
expect_exit 0 sh -e lines
expect_exit 0 sten-energy --diff dense.safetensors pruned.safetensors

# From a trainer's checkpoint, only the model is read.
expect_exit 0 sten-energy "$saved/trainer.ckpt" --list
expect_err "only the tensors of 'state_dict' are read, not 12 others"
expect_out '0.weight'

# Code in a pickle is never run, and one line names the function that the file needs.
for name in module sparse complex128; do
  expect_exit 1 sten-prune "$saved/$name.pt" -o out.safetensors --sparsity 0.5
  expect_one_line_err
  [ ! -e out.safetensors ] || fail 'a rejected file left an output'
done
printf '\200\002cos\nsystem\nU\007touch ownedq\0\205R.' >evil.pkl
printf '\200\002\212\012\154\374\234\106\371\040\152\250\120\031.\200\002M\351\003.\200\002}.' | cat - evil.pkl >evil.pt
held 97 expect_exit 1 sten-energy evil.pt
expect_err "the pickle needs 'os.system'"
[ ! -e owned ] || fail 'the file ran a command'
