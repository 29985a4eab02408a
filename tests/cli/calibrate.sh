# SPDX-License-Identifier: Apache-2.0
# Calibration from a file of statistics or from a model and data, and the errors of both.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_safetensors.sh"
cd "$T"

P5='\x00\x00\x00\x3f' # 0.5
w="$(entry a.weight F32 2,2 0 16)"
safetensors w.safetensors "{$w}" "$F1$F2$F3$F4"
values() { data "$1" | od -An -tf4 -w64 | tr -s ' ' | sed 's/^ //'; }
prunes() { # VALUES ARGUMENT...
  expect_exit 0 sten-prune w.safetensors -o o.safetensors -f -q --sparsity 0.5 "${@:2}"
  [ "$(values o.safetensors)" = "$1" ] || fail "'${*:2}': expected $1, got $(values o.safetensors)"
}
statistics() { safetensors s.safetensors "{$(entry a.weight.squares F32 2 0 8),$(entry a.weight.gram F32 2,2 8 24)}" "$1"; }

# The inputs have norms 2 and 1, so the scores of 1 2 / 3 4 are 2 2 / 6 4.
statistics "$F4$F1$F4$P5$P5$F1"
prunes '0 0 3 4' --method wanda --statistics s.safetensors --scope local
prunes '1 0 3 0' --method wanda --statistics s.safetensors
# The unpruned weights become elements of w G = (5 2.5; 14 5.5), divided by the diagonal of G.
prunes '0 2.5 0 5.5' --reconstruct --statistics s.safetensors --scope row --damping 1e-9
expect_exit 0 sten-prune w.safetensors --dry-run --sparsity 0.5 --method admm --statistics s.safetensors --json
expect_out '"error_before"'
header o.safetensors | grep -qF 'reconstruct' ||
  fail "the provenance in o.safetensors does not name the reconstruction"

# Values outside the range of float32: methods that only select weights copy their bytes, and a
# reconstruction that overflows is an error.
far='\x9c\x75\x00\x88\x3c\xe4\x37\x7e' small='\x59\xf3\xf8\xc2\x1f\x6e\xa5\x01' # 1e300 1e-300
safetensors far.safetensors "{$(entry a.weight F64 2,2 0 32)}" "$far$small$small$far"
for method in wanda ria; do
  expect_exit 0 sten-prune far.safetensors -o o.safetensors -f -q --sparsity 0.5 --method $method --statistics s.safetensors
  [ "$(data o.safetensors | od -An -tf8 -w64 | tr -s ' ')" = ' 1e+300 0 0 1e+300' ] || fail "$method changed kept values"
done
largest='\xff\xff\x7f\x7f'
safetensors far.safetensors "{$w}" "$largest$largest$F3$F4"
rm -f o.safetensors
expect_exit 1 sten-prune far.safetensors -o o.safetensors --sparsity 0.5 --scope row --reconstruct --statistics s.safetensors
expect_err "far.safetensors: 'a.weight': element 0 of the reconstructed weights is not finite in F32"
[ ! -e o.safetensors ] || fail "a file with infinities was written"

# b.weight has small values, so pruning it adds little error.
safetensors two.safetensors "{$(entry a.weight F32 2,2 0 16),$(entry b.weight F32 2,2 16 32)}" "$F1$F2$F3$F4$P5$P5$P5$P5"
safetensors t.safetensors "{$(entry a.weight.gram F32 2,2 0 16),$(entry b.weight.gram F32 2,2 16 32)}" "$F4$F1$F1$F4$F4$F1$F1$F4"
for how in error owl; do
  expect_exit 0 sten-prune two.safetensors --dry-run --sparsity 0.5 --method admm --statistics t.safetensors --allocate $how --json
  expect_out '"sparsity": 0.5'
done

refuses() { # CASE TEXT ARGUMENT...
  expect_exit 2 sten-prune w.safetensors -o o.safetensors -f --sparsity 0.5 "${@:3}"
  expect_one_line_err
  held "$1" expect_err "$2"
}
refuses 128 '--method wanda needs --calibrate DATA or --statistics FILE' --method wanda
refuses 128 '--statistics belongs to --method wanda' --statistics s.safetensors
refuses 128 '--allocate belongs to --method wanda' --allocate owl
refuses 128 '--allocate sensitivity needs --calibrate' --allocate sensitivity --method wanda --statistics s.safetensors
refuses 128 '--allocate needs --sparsity' --allocate owl --method wanda --statistics s.safetensors \
  --rule 'a.*=magnitude:sparsity=0.9'
refuses 128 '--calibrate and --statistics exclude each other' --reconstruct --statistics s.safetensors --calibrate x.csv
refuses 128 '--scope global does not support --method ria' --method ria --statistics s.safetensors --scope global
refuses 128 '--scope row needs unstructured pruning' --scope row
refuses 128 '--damping belongs to --method sparsegpt' --method wanda --statistics s.safetensors --damping 0.5
refuses 128 '--damping must be in (0, 1], got 2' --reconstruct --statistics s.safetensors --damping 2
refuses 128 '--calibrate-samples belongs to --calibrate' --reconstruct --statistics s.safetensors --calibrate-samples 8
refuses 128 '--reconstruct goes with' --method random --reconstruct --statistics s.safetensors
broken() { # TEXT
  expect_exit 1 sten-prune w.safetensors -o o.safetensors -f --sparsity 0.5 --reconstruct --statistics s.safetensors
  expect_one_line_err
  held 129 expect_err "$1"
}
statistics "$F4$F1$F4$P5$F1$F1"
broken "'a.weight.gram' is not symmetric: elements 2 and 1 differ"
statistics "$F4$F1$F4\x00\x00\xc0\x7f$P5$F1"
broken "'a.weight.gram': element 1 is not finite"
statistics "$F4\x00\x00\x80\xbf$F4$P5$P5$F1"
broken "'a.weight.squares': element 1: expected a sum of squares >= 0"
safetensors s.safetensors "{$(entry a.weight.gram F32 3 0 12)}" "$F1$F1$F1"
broken "'a.weight.gram' has shape [3], but 'a.weight' takes 2 inputs"
safetensors s.safetensors "{$(entry b.weight.gram F32 1 0 4)}" "$F1"
broken "missing 'a.weight.gram' to prune 'a.weight'"

# Each layer is calibrated on the outputs of the layers before it, which are already pruned. The
# bytes are the same with any number of threads, and from the model directory or its weights file,
# whose architecture is given by the recipe.
MODELS=$STEN_SOURCE/recipes
calibrated() { # OUT MODEL RECIPE INCLUDE ARGUMENT...
  expect_exit 0 sten-prune "$MODELS/models/$2" -o "$1" --include "$4" --calibrate "$MODELS/$3.json" \
    --calibrate-samples 2 --json "${@:5}"
}
for threads in 1 2; do
  of=shakespeare-bert to=bert1
  [ $threads = 1 ] || of=$of/model.safetensors to=bert2.safetensors
  calibrated $to $of shakespeare-bert-one-shot 'bert.encoder.layer.0.*' \
    --structure 1:4:4 --method admm --threads $threads
  expect_out 'calibrated on 2 rows'
done
cmp bert1/model.safetensors bert2.safetensors
errors=$(grep -o '"error": [0-9.]*' out | cut -d' ' -f2)
[ "$(wc -w <<<"$errors")" -eq 6 ] || fail "expected 6 errors, one for each layer"
awk '$1 > 0.35 { exit 1 }' <<<"$errors" || fail "the error of a layer is above 0.35"
# The number of rows is the requested one, whatever the batch size.
expect_exit 0 sten-train "$MODELS/digits-mlp-one-shot.json" --out mlp --set steps=1 --set 'sparsity=[]' -q
expect_exit 0 sten-prune mlp/model.safetensors --dry-run --sparsity 0.5 --method wanda --calibrate mlp/recipe.json \
  --calibrate-samples 37
expect_out 'calibrated on 37 rows of mlp/recipe.json (37 positions)'
# The default is 64 rows, or all training rows if there are fewer: here 12 of 20.
head -n 21 "$MODELS/data/digits.csv" >few.csv
expect_exit 0 sten-prune mlp/model.safetensors --dry-run --sparsity 0.5 --method wanda --calibrate mlp/recipe.json
expect_out 'calibrated on 64 rows'
expect_exit 0 sten-prune mlp --dry-run --sparsity 0.5 --method wanda --calibrate few.csv
expect_out 'calibrated on 12 rows of few.csv (12 positions)'
cut -d, -f1-64 few.csv >unlabelled.csv
expect_exit 0 sten-prune mlp --dry-run --sparsity 0.5 --method wanda --calibrate unlabelled.csv
expect_out 'calibrated on 12 rows of unlabelled.csv (12 positions)'
# A BF16 checkpoint is run in float32, and its output is BF16.
mkdir low
cp "$MODELS/models/shakespeare-bert/"*.json low
python3 "$STEN_SOURCE/tests/cli/_bf16.py" "$MODELS/models/shakespeare-bert/model.safetensors" low/model.safetensors
expect_exit 0 sten-prune low -o low.out --include 'bert.encoder.layer.0.*.weight' --exclude '*LayerNorm*' --structure 2:4 \
  --method admm --calibrate "$MODELS/shakespeare-bert-one-shot.json" --calibrate-samples 2 --json
expect_out '"dtype": "BF16"'
expect_out '"error": 0.0'
# Weights stored as [in, out], and a single selected layer.
expect_exit 0 sten-train "$MODELS/shakespeare-gpt.json" --out gpt --set steps=1 --set batch=1 --set rate=null \
  --set evaluation.test=false --set evaluation.every=0 -q
expect_exit 0 sten-prune gpt -o pruned --include 'transformer.h.0.mlp.c_fc.weight' --sparsity 0.5 \
  --method sparsegpt --calibrate "$MODELS/shakespeare-gpt.json" --calibrate-samples 1 --json
expect_out '"error": 0.0'
expect_exit 2 sten-prune "$MODELS/models/shakespeare-bert" --dry-run --include '*position_embeddings*' \
  --sparsity 0.5 --method wanda --calibrate "$MODELS/shakespeare-bert-one-shot.json"
held 130 expect_err "'bert.embeddings.position_embeddings.weight' cannot be calibrated: expected the weight of a linear layer"
expect_exit 2 sten-prune "$MODELS/models/shakespeare-bert" --dry-run --include 'bert.embeddings.*_embeddings.weight' \
  --sparsity 0.5 --method wanda --calibrate "$MODELS/shakespeare-bert-one-shot.json"
expect_err "2 tensors cannot be calibrated: expected weights of linear layers (or --exclude): \
'bert.embeddings.position_embeddings.weight', 'bert.embeddings.token_type_embeddings.weight'"
# Convolutions are left alone, and one line counts them.
mkdir cnn
cat >cnn/graph.json <<'EOF'
{"inputs": ["pixels"],
 "weights": [{"name": "conv.weight", "shape": [4, 1, 3, 3], "init": "uniform:bound=0.3"},
             {"name": "hidden.weight", "shape": [32, 256], "init": "uniform:bound=0.1"},
             {"name": "out.weight", "shape": [10, 32], "init": "uniform:bound=0.18"}],
 "nodes": [{"name": "image", "op": "reshape", "inputs": ["pixels"], "attributes": {"shape": [-1, 8, 8, 1]}},
           {"name": "conv", "op": "conv", "inputs": ["image", "conv.weight"], "attributes": {"pads": [1, 1, 1, 1]}},
           {"name": "flat", "op": "flatten", "inputs": ["conv"]},
           {"name": "hidden", "op": "linear", "inputs": ["flat", "hidden.weight"]},
           {"name": "relu", "op": "relu", "inputs": ["hidden"]},
           {"name": "out", "op": "linear", "inputs": ["relu", "out.weight"]}],
 "outputs": ["out"]}
EOF
cat >cnn.json <<EOF
{"schema": 1, "model": {"kind": "graph", "file": "cnn/graph.json"}, "steps": 1, "optimizer": {"rate": 0.01},
 "data": {"kind": "csv", "file": "$MODELS/data/digits.csv", "scale": 0.125, "shift": -1}}
EOF
expect_exit 0 sten-train cnn.json --out net -q
expect_exit 0 sten-prune net --dry-run --sparsity 0.5 --method wanda --calibrate cnn.json --calibrate-samples 4
expect_out 'left alone: 1 convolution, not calibrated'
expect_exit 2 sten-prune net --dry-run --sparsity 0.5 --method wanda --calibrate cnn.json --exclude '*hidden*,*out*'
expect_err 'net: expected linear layers to calibrate (left alone: 1 convolution, not calibrated, '
# Data without labels: the same rows as a CSV file, as an array and through a recipe; and images
# without class folders.
python3 - <<'END'
import os, struct, zlib
rows = [[(7 * i + 3 * j) % 11 / 8 for j in range(20)] for i in range(12)]
open("rows.csv", "w").writelines(",".join(map(str, r)) + "\n" for r in rows)
header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (12, 20), }".ljust(117) + b"\n"
values = b"".join(struct.pack("<f", x) for r in rows for x in r)
open("rows.npy", "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + values)
entry = '{"%s": {"dtype": "F32", "shape": [12, 20], "data_offsets": [0, 960]}}' % "any name"
open("rows.safetensors", "wb").write(struct.pack("<Q", len(entry)) + entry.encode() + values)
open("labelled.csv", "w").writelines(",".join(map(str, r)) + ",1\n" for r in rows)
chunk = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
os.mkdir("flat")
for i in range(5):
    pixels = b"".join(b"\0" + bytes((i * 50 + 8 * y + x) % 256 for x in range(8)) for y in range(8))
    png = chunk(b"IHDR", struct.pack(">IIBBBBB", 8, 8, 8, 0, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(pixels))
    open(f"flat/{i}.png", "wb").write(b"\x89PNG\r\n\x1a\n" + png + chunk(b"IEND", b""))
END
cp "$STEN_SOURCE/tests/onnx/models/mlp-opset14.onnx" mlp.onnx
echo '{"schema": 1, "model": {"kind": "onnx", "file": "mlp.onnx"}, "data": {"kind": "arrays", "features": "rows.npy"}, "steps": 1}' >rows.json
for rows in rows.csv rows.npy rows.json rows.safetensors labelled.csv; do
  expect_exit 0 sten-prune mlp.onnx -o "$rows.onnx" --sparsity 0.5 --method wanda --calibrate $rows
  cmp rows.csv.onnx $rows.onnx || fail "calibration on $rows differs from calibration on rows.csv"
done
# graph.json does not give the number of features; the shape of the first layer does.
mkdir rows
cat >rows/graph.json <<'END'
{"inputs": ["x"],
 "weights": [{"name": "hidden.weight", "shape": [8, 20], "init": "uniform:bound=0.2"},
             {"name": "out.weight", "shape": [3, 8], "init": "uniform:bound=0.3"}],
 "nodes": [{"name": "hidden", "op": "linear", "inputs": ["x", "hidden.weight"]},
           {"name": "relu", "op": "relu", "inputs": ["hidden"]},
           {"name": "out", "op": "linear", "inputs": ["relu", "out.weight"]}],
 "outputs": ["out"]}
END
echo '{"schema": 1, "model": {"kind": "graph", "file": "rows/graph.json"}, "data": {"kind": "csv", "file": "labelled.csv"}, "steps": 1}' >graph.json
expect_exit 0 sten-train graph.json --out rows-run -q
for rows in rows.csv rows.npy rows.safetensors labelled.csv; do
  out=by-${rows/./-}
  expect_exit 0 sten-prune rows-run -o $out --sparsity 0.5 --method wanda --calibrate $rows
  cmp by-rows-csv/model.safetensors $out/model.safetensors ||
    fail "calibration on $rows differs from calibration on rows.csv"
done
printf '\x02\0\0\0\0\0\0\0{}' >empty.safetensors
expect_exit 1 sten-prune rows-run --dry-run --sparsity 0.5 --method wanda --calibrate empty.safetensors
expect_err '/empty.safetensors: expected tensors, got none'
# Training, evaluation and --allocate sensitivity compute a loss, which needs labels.
expect_exit 2 sten-train rows.json --dry-run
expect_err "/rows.npy: missing labels (see data.labels)"
for needs in "sten-run rows-run --data rows.npy" "sten-prune rows-run --dry-run --sparsity 0.5 --method wanda --allocate sensitivity --calibrate rows.npy"; do
  expect_exit 2 $needs
  expect_err "/rows.npy: missing labels (see data.labels)"
done
sed 's/"kind": "csv".*/"kind": "images", "folder": "flat", "size": 8, "channels": 1}}/' cnn.json >flat.json
expect_exit 0 sten-prune net --dry-run --sparsity 0.5 --method wanda --calibrate flat.json
expect_out 'calibrated on 4 rows of flat.json'
# The error of a node names the file of the model.
sed -i 's/-1, 8, 8, 1/-1, 1, 8, 8/' cnn/graph.json
expect_exit 1 sten-train cnn.json --out no
expect_err "/cnn/graph.json: node 'conv': "
expect_exit 2 sten-prune - --dry-run --sparsity 0.5 --method wanda --calibrate "$MODELS/shakespeare-bert-one-shot.json" \
  <"$MODEL"
held 130 expect_err '--calibrate: expected a model, got standard input'
