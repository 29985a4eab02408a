# SPDX-License-Identifier: Apache-2.0
# Output paths: the ending of the name has to match the format that is written.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_safetensors.sh"
. "$(dirname "$0")/_recipe.sh"
mkdir "$T/work"
cd "$T/work"
safetensors in.safetensors "{$(entry a.weight F32 2,2 0 16)}" "$F1$F2$F3$F4"
mkdir hub hub.pt
cp in.safetensors hub/model.safetensors
cp in.safetensors hub.pt/model.safetensors
expect_exit 0 sten-prune in.safetensors -o wanted --sparsity 0.5
before=$(ls -A)
refused() { # TEXT COMMAND...
  expect_exit 2 "${@:2}"
  expect_one_line_err
  expect_err "$1"
  [ "$(ls -A)" = "$before" ] || fail "'${*:2}' changed the files of the directory: $(ls -A)"
}
prune() { sten-prune in.safetensors --sparsity 0.5 "$@"; }

# Endings of formats that are not written are rejected, in upper and lower case, also in a dry run.
for name in x.pt x.pth x.bin x.ckpt x.pkl x.onnx x.h5 x.hdf5 x.keras x.ggml x.npz x.msgpack x.pb x.PT x.tar.gz x.json; do
  for dry in '' --dry-run; do
    held 96 refused "$name: the name is that of " prune -o $name $dry
    refused 'but the output is safetensors (use the ending .safetensors, or .npy for one dense tensor)' \
      sten-convert in.safetensors -o $name --to csr $dry
  done
done
refused 'x.pt: the name is that of a PyTorch file' prune -o x.pt --force
for name in m.pt m.npy; do
  refused "$name: the name is that of " prune -o x --mask-out $name
done
refused 'x.onnx: the name is that of an ONNX model' sten-prune in.safetensors -o x.onnx --finetune 'cp {in} {out}' \
  --schedule linear:from=0,to=0.5,stages=1 --state S
# The output of a model directory or a training run is a directory, so a file ending is rejected.
for name in x.pt x.safetensors x.npy x.h5/; do
  refused 'but the output is a directory (leave the ending out)' sten-prune hub -o $name --sparsity 0.5
  refused 'but the output is a directory (leave the ending out)' sten-train "$RECIPE" --out $name
  refused 'but the output is a directory (leave the ending out)' sten-train "$RECIPE" --out $name --dry-run
done

# With any other ending, or none, the output is safetensors.
for name in x x.sparse v1.2 .hidden; do
  expect_exit 0 prune -o $name
  cmp $name wanted || fail "$name differs"
  rm $name
done
expect_exit 0 prune -o x.SafeTensors
rm x.SafeTensors
# An output directory may have the ending of the input directory; a FIFO may have any name.
expect_exit 0 sten-prune hub.pt -o out.pt --sparsity 0.5
[ -s out.pt/model.safetensors ] || fail 'out.pt/model.safetensors is missing or empty'
mv out.pt in.npy
expect_exit 0 sten-prune in.npy -o out.npy --sparsity 0.5
[ -s out.npy/model.safetensors ] || fail 'out.npy/model.safetensors is missing or empty'
rm -r in.npy out.npy
mkfifo x.bin
cat x.bin >got &
expect_exit 0 prune -o x.bin
wait $!
cmp got wanted || fail 'the FIFO received different bytes'
rm x.bin got

# With -o DIR/ the output is written into DIR with the file name of the input.
mkdir -p new/folder
expect_exit 0 prune -o new/folder/
cmp new/folder/in.safetensors wanted || fail 'new/folder/in.safetensors has different bytes'
before=$(ls -A)
refused 'new/folder/in.safetensors: exists (use --force to overwrite)' prune -o new/folder/
expect_exit 0 prune -o new/folder// --force
expect_exit 0 sten-convert in.safetensors -o new/ --to csr
[ -s new/in.safetensors ] || fail 'sten-convert did not write new/in.safetensors'
# The error says that DIR does not exist, or that the slash is missing.
for dry in '' --dry-run; do
  expect_exit 1 prune -o missing/ $dry
  expect_err "missing/in.safetensors: directory 'missing"
  expect_exit 1 prune -o new $dry
  expect_err 'new: expected a file, got a directory (new/ writes a file in the directory)'
  expect_one_line_err
done
rm -r new
before=$(ls -A)
refused 'expected a file name, as standard input has none' sten-prune - -o new/ --sparsity 0.5 <in.safetensors
# The output of a model directory may end in a slash.
expect_exit 0 sten-prune hub -o new/ --sparsity 0.5
[ -s new/model.safetensors ] || fail 'new/model.safetensors is missing or empty'
rm -r new

# The input is never written.
for out in in.safetensors ./ "$PWD/"; do
  refused "is the input 'in.safetensors', and inputs are never written" prune -o "$out"
  refused "is the input 'in.safetensors', and inputs are never written" sten-convert in.safetensors -o "$out" --to csr -f
done
refused 'is the input' sten-prune hub -o hub --sparsity 0.5
true
