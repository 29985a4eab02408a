# SPDX-License-Identifier: Apache-2.0
# Sharded checkpoints are read and written as a whole, including the other files of the directory.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_safetensors.sh"
. "$(dirname "$0")/_sharded.sh"

make_sharded "$T/in"

# Pruning gives the same values as for the single file, in the same shards; other files are copied.
expect_exit 0 sten-prune "$MODEL" -o "$T/single.safetensors" --sparsity 0.9 -q
expect_exit 0 sten-prune "$T/in" -o "$T/pruned" --sparsity 0.9 -q
[ "$(ls "$T/pruned" | tr '\n' ' ')" = "config.json extra model-00001-of-00003.safetensors model-00002-of-00003.safetensors model-00003-of-00003.safetensors model.safetensors.index.json " ] ||
  fail "unexpected files in the output: $(ls "$T/pruned")"
cmp "$T/in/config.json" "$T/pruned/config.json"
cmp "$T/in/extra/vocab.txt" "$T/pruned/extra/vocab.txt"
cat_values() { for f in "$1"/model*.safetensors; do data "$f"; done; }
data "$T/single.safetensors" >"$T/a"
cat_values "$T/pruned" >"$T/b"
cmp "$T/a" "$T/b" || fail "the values of the shards differ from those of the single file"
grep -q '"total_size": 5182360' "$T/pruned/model.safetensors.index.json" || fail "the index lacks the total_size 5182360"

# Compressed files get names that other tools do not recognize as models. Converting back to dense
# restores the values.
expect_exit 0 sten-convert "$T/pruned" -o "$T/small" --to bitmask -q
ls "$T/small" | grep -q '^model.sten-00002-of-00003.safetensors$' ||
  fail "shard model.sten-00002-of-00003.safetensors is missing"
ls "$T/small" | grep -q '^model.sten.safetensors.index.json$' ||
  fail "model.sten.safetensors.index.json is missing"
grep -q '::mask": "model.sten-0000' "$T/small/model.sten.safetensors.index.json" ||
  fail "the index does not name the parts"
expect_exit 0 sten-energy "$T/small" --against "$T/in" --min-energy 0.25
expect_exit 0 sten-convert "$T/small/model.sten.safetensors.index.json" -o "$T/back" --to dense -q
cat_values "$T/back" >"$T/c"
cmp "$T/b" "$T/c" || fail "the values changed in a round trip through bitmask"

# A directory with a single safetensors file needs no index.
mkdir "$T/one" && cp "$MODEL" "$T/one/model.safetensors" && echo x >"$T/one/tokenizer.json"
expect_exit 0 sten-prune "$T/one" -o "$T/one.out" --structure nm:n=2,m=4 --to nm -q
[ "$(ls "$T/one.out" | tr '\n' ' ')" = "model.sten.safetensors tokenizer.json " ] ||
  fail "unexpected files in the output: $(ls "$T/one.out")"

# Other formats of the same model are not copied, because a loader could use their old weights. One
# line lists them.
mkdir -p "$T/hub.in/onnx" "$T/hub.in/2_Dense" "$T/hub.in/original" && cp "$MODEL" "$T/hub.in/model.safetensors"
others='consolidated.safetensors flax_model.msgpack model.fp16.safetensors model-q4.gguf onnx/model.onnx
  original/consolidated.00.pth pytorch_model-00001-of-00002.bin pytorch_model.bin.index.json rust_model.ot tf_model.h5'
kept='2_Dense/config.json 2_Dense/pytorch_model.bin adapter_model.safetensors config.json optimizer.pt
  original/params.json spiece.model training_args.bin'
for f in $others $kept; do echo x >"$T/hub.in/$f"; done
for program in "sten-prune --sparsity 0.5" "sten-convert --to bitmask"; do
  rm -rf "$T/hub.out"
  expect_exit 0 $program "$T/hub.in" -o "$T/hub.out" --summary
  expect_out "left behind, with the weights of before: consolidated.safetensors, flax_model.msgpack, \
model-q4.gguf, model.fp16.safetensors, onnx/, original/consolidated.00.pth, pytorch_model-00001-of-00002.bin, \
pytorch_model.bin.index.json, rust_model.ot, tf_model.h5; --keep-other-weights copies"
  for f in $others; do [ ! -e "$T/hub.out/$f" ] || fail "$program copied $f"; done
  for f in $kept; do cmp "$T/hub.in/$f" "$T/hub.out/$f" || fail "$program lost or changed $f"; done
done
expect_exit 0 sten-prune "$T/hub.in" --dry-run --sparsity 0.5 --summary
expect_out "left behind"
expect_exit 0 sten-prune "$T/hub.in" -o "$T/hub.all" --sparsity 0.5 --summary --keep-other-weights
! grep -q "left behind" "$T/out" || fail "copied files are reported as left behind"
for f in $others $kept; do cmp "$T/hub.in/$f" "$T/hub.all/$f" || fail "--keep-other-weights lost or changed $f"; done
rm -rf "$T/hub.in" "$T/hub.out" "$T/hub.all"

# One threshold over all shards removes exactly llround(0.9 N) weights.
expect_exit 0 sten-prune "$T/in" -o "$T/global" --sparsity 0.9 --scope global --summary
expect_out "one threshold: 1128960 of the 1254400 weights of 25 tensors removed"

# Existing output is kept without --force; with --force, it stays complete until the run succeeds.
expect_exit 2 sten-prune "$T/in" -o "$T/pruned" --sparsity 0.5
expect_err "use --force to overwrite"
expect_exit 3 sten-prune "$T/in" -o "$T/pruned" --sparsity 0.5 --force --min-energy 0.99
cat_values "$T/pruned" >"$T/c"
cmp "$T/b" "$T/c" || fail "a failed check changed the existing output"
expect_exit 0 sten-prune "$T/in" -o "$T/pruned" --sparsity 0.5 --force -q
cat_values "$T/pruned" >"$T/c"
cmp -s "$T/b" "$T/c" && fail "--force replaced nothing"
expect_exit 2 sten-prune "$T/in" -o "$T/in/sub" --sparsity 0.5
expect_exit 2 sten-prune "$T/in" -o - --sparsity 0.5
[ -z "$(find "$T" -name '.*.sten-*')" ] || fail "hidden temporary directories were left behind"

# A file that changes during the copy is detected.
mkdir "$T/moving" && cp -r "$T/in/." "$T/moving" && truncate -s 64M "$T/moving/data.bin"
while :; do echo x; done >>"$T/moving/data.bin" &
toucher=$!
status=0
sten-prune "$T/moving" -o "$T/moved" --sparsity 0.5 >"$T/out" 2>"$T/err" || status=$?
kill $toucher
wait $toucher 2>/dev/null || true
[ $status = 1 ] || fail "a file that changed during the copy: expected exit code 1, got $status"
expect_err "data.bin: the file changed during the run"
[ ! -e "$T/moved" ] || fail "an output with an incomplete file was left"
rm -r "$T/moving"

# A directory that only looks like the temporary directory of a killed run is kept.
mkdir "$T/.next.sten-abcdef" && echo x >"$T/.next.sten-abcdef/file"
expect_exit 0 sten-prune "$T/in" -o "$T/next" --sparsity 0.5 -q
[ "$(cat "$T/.next.sten-abcdef/file")" = x ] ||
  fail "a directory that sten did not create was removed or changed"

# Invalid indices. bad NAME SED-SCRIPT TEXT: pruning a copy with the edited index fails with TEXT.
bad() {
  rm -rf "$T/bad"
  cp -r "$T/in" "$T/bad"
  sed -i "$2" "$T/bad/model.safetensors.index.json"
  expect_exit 1 sten-prune "$T/bad" -o "$T/bad.out" --sparsity 0.5
  expect_err "$3"
  expect_one_line_err
  [ ! -e "$T/bad.out" ] || fail "$1: an output was left"
}
held 40 bad "a path out of the directory" 's/"model-00001-of-00003.safetensors"/"..\/x.safetensors"/' "expected the name of a file in the directory"
bad "an absolute path" 's/"model-00001-of-00003.safetensors"/"\/etc\/passwd"/' "expected the name of a file in the directory"
held 41 bad "a missing shard" 's/"model-00002-of-00003.safetensors"/"model-00009-of-00003.safetensors"/g' "missing shard 'model-00009-of-00003.safetensors'"
held 42 bad "a tensor that the shard lacks" 's/"weight_map":{/"weight_map":{"ghost":"model-00001-of-00003.safetensors",/' "'ghost' is not in shard"
bad "a tensor in another shard" 's/"cls.predictions.bias":"model-00003/"cls.predictions.bias":"model-00001/' "'cls.predictions.bias' is not in shard"
held 44 bad "a tensor the index lacks" 's/"cls.predictions.bias":"[^"]*",//' "'cls.predictions.bias' of shard"
held 45 bad "a number in place of a file name" 's/"cls.predictions.bias":"[^"]*"/"cls.predictions.bias":3/' "expected a file name"
bad "a duplicate key" 's/"weight_map":{/"weight_map":{"cls.predictions.bias":"model-00003-of-00003.safetensors",/' "duplicate key"
held 47 bad "names that differ by case" 's/"cls.predictions.bias":"model/"cls.predictions.bias":"Model/' "differ only by case"
bad "no weight_map" 's/"weight_map"/"weights"/' "missing object 'weight_map'"
bad "invalid JSON" 's/^{/[/' "not JSON"
bad "a number that is not a double" 's/"total_size":[0-9]*/"total_size":1e999/' "number beyond the range of a double"
rm -rf "$T/bad" && cp -r "$T/in" "$T/bad" && cp "$T/in/model-00001-of-00003.safetensors" "$T/bad/model-00003-of-00003.safetensors"
expect_exit 1 sten-prune "$T/bad" -o "$T/bad.out" --sparsity 0.5
held 43 expect_err "is in both"
rm -rf "$T/bad" && cp -r "$T/in" "$T/bad" && mv "$T/bad/model-00002-of-00003.safetensors" "$T/elsewhere.safetensors" &&
  ln -s ../elsewhere.safetensors "$T/bad/model-00002-of-00003.safetensors"
expect_exit 1 sten-prune "$T/bad" -o "$T/bad.out" --sparsity 0.5
expect_err "links to a file outside the directory"
rm -rf "$T/bad" && cp -r "$T/in" "$T/bad" && ln -s /etc/hostname "$T/bad/notes.txt"
expect_exit 1 sten-prune "$T/bad" -o "$T/bad.out" --sparsity 0.5
expect_err "links to a file outside the directory"
[ ! -e "$T/bad.out" ] || fail "an output with a file from outside the directory was left"
rm -rf "$T/bad" && cp -r "$T/in" "$T/bad" && sed -i 's/"total_size":[0-9]*/"total_size":17/' "$T/bad/model.safetensors.index.json"
expect_exit 0 sten-prune "$T/bad" -o "$T/bad.out" --sparsity 0.5
expect_err "warning"
held 46 expect_err "total_size is 17"
for size in '"5"' -5 1.5 null; do
  sed -i 's/"total_size":[^,}]*/"total_size":'"$size/" "$T/bad/model.safetensors.index.json"
  expect_exit 0 sten-prune "$T/bad" --dry-run --sparsity 0.5
  expect_err "warning: $T/bad/model.safetensors.index.json: total_size is ignored: expected a count of bytes"
done
mkdir "$T/empty"
expect_exit 1 sten-prune "$T/empty" -o "$T/bad.out2" --sparsity 0.5
expect_err "expected a directory with a safetensors file"

# A HuggingFace cache keeps its files in blobs/, and snapshots/REVISION/ links to them.
mkdir -p "$T/hub/blobs" "$T/hub/snapshots/r1"
cp "$MODEL" "$T/hub/blobs/abc" && ln -s ../../blobs/abc "$T/hub/snapshots/r1/model.safetensors"
expect_exit 0 sten-prune "$T/hub/snapshots/r1" -o "$T/hub.out" --sparsity 0.9 -q
data "$T/hub.out/model.safetensors" >"$T/c"
cmp "$T/a" "$T/c" || fail "pruning a snapshot gives different values"
