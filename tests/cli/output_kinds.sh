# SPDX-License-Identifier: Apache-2.0
# Locations and suffixes of outputs: the suffix has to match the kind of the file.
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
  [ "$(ls -A)" = "$before" ] || fail "'${*:2}' left something: $(ls -A)"
}
prune() { sten-prune in.safetensors --sparsity 0.5 "$@"; }

# Kinds of files that are not written, in any case of letters, in a dry run too.
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
# What is written of a directory is one.
for name in x.pt x.safetensors x.npy x.h5/; do
  refused 'but the output is a directory (leave the ending out)' sten-prune hub -o $name --sparsity 0.5
  refused 'but the output is a directory (leave the ending out)' sten-train "$RECIPE" --out $name
  refused 'but the output is a directory (leave the ending out)' sten-train "$RECIPE" --out $name --dry-run
done

# Any other ending, or none, is free: safetensors all the same.
for name in x x.sparse v1.2 .hidden; do
  expect_exit 0 prune -o $name
  cmp $name wanted || fail "$name differs"
  rm $name
done
expect_exit 0 prune -o x.SafeTensors
rm x.SafeTensors
# A directory may be called as the input is; streams may be called anything.
expect_exit 0 sten-prune hub.pt -o out.pt --sparsity 0.5
[ -s out.pt/model.safetensors ] || fail 'there is no model in out.pt'
mv out.pt in.npy
expect_exit 0 sten-prune in.npy -o out.npy --sparsity 0.5
[ -s out.npy/model.safetensors ] || fail 'there is no model in out.npy'
rm -r in.npy out.npy
mkfifo x.bin
cat x.bin >got &
expect_exit 0 prune -o x.bin
wait $!
cmp got wanted || fail 'a FIFO got something else'
rm x.bin got

# DIR/ is where a file goes, under the input's name.
mkdir -p new/folder
expect_exit 0 prune -o new/folder/
cmp new/folder/in.safetensors wanted || fail 'new/folder/ has something else'
before=$(ls -A)
refused 'new/folder/in.safetensors: exists (use --force to overwrite)' prune -o new/folder/
expect_exit 0 prune -o new/folder// --force
expect_exit 0 sten-convert in.safetensors -o new/ --to csr
[ -s new/in.safetensors ] || fail 'sten-convert wrote nothing into new/'
# Which says so where it is not there, and where the slash is missing.
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
# A directory for a directory.
expect_exit 0 sten-prune hub -o new/ --sparsity 0.5
[ -s new/model.safetensors ] || fail 'new/ is not the model'
rm -r new

# The input is never written.
for out in in.safetensors ./ "$PWD/"; do
  refused "is the input 'in.safetensors', and inputs are never written" prune -o "$out"
  refused "is the input 'in.safetensors', and inputs are never written" sten-convert in.safetensors -o "$out" --to csr -f
done
refused 'is the input' sten-prune hub -o hub --sparsity 0.5
true
