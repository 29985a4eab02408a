# SPDX-License-Identifier: Apache-2.0
# --type changes the value type of matrices, in all formats except ONNX.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_safetensors.sh"
cd "$T"

mkdir model
python3 - <<'END'
import json, struct
def save(path, tensors):
    header, data = {}, b""
    for name, (shape, values) in tensors.items():
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + 4 * len(values)]}
        data += struct.pack(f"<{len(values)}f", *values)
    text = json.dumps(header).encode()
    open(path, "wb").write(struct.pack("<Q", len(text)) + text + data)
# A value halfway between two of BF16, the next one, 0, and one that F16 rounds to its smallest value.
values = [1 + 2**-8, 1 + 2**-8 + 2**-20, 0, -(2.0**-24), -3, 0.1, 0, 65504]
save("model/model.safetensors", {"up.weight": ([2, 4], values), "norm.weight": ([4], [0.1, 1, 1, 1])})
save("large.safetensors", {"up.weight": ([1, 2], [1, 65520])})
json.dump({"model_type": "x", "torch_dtype": "float32", "text_config": {"dtype": "float32", "size": 4}},
          open("model/config.json", "w"))
END
type_of() { # FILE TENSOR
  python3 - "$@" <<'END'
import json, struct, sys
f = open(sys.argv[1], "rb")
print(json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))[sys.argv[2]]["dtype"])
END
}

expect_exit 0 sten-convert model -o low --type bf16
expect_out 'rounded 1 of 2 tensors to BF16'
expect_out 'every tensor keeps its layout'
! grep -q '^total' out || fail 'a total is printed without any tensors'
[ "$(type_of low/model.safetensors up.weight) $(type_of low/model.safetensors norm.weight)" = 'BF16 F32' ] || fail 'expected BF16 for up.weight and F32 for norm.weight'
grep -q '"torch_dtype": "bfloat16"' low/config.json ||
  fail "torch_dtype is not bfloat16: $(cat low/config.json)"
grep -q '"dtype": "bfloat16"' low/config.json ||
  fail "dtype is not bfloat16: $(cat low/config.json)"
expect_exit 0 sten-convert model/model.safetensors --out-dir folder --type bf16 -q
cmp low/config.json folder/config.json || fail 'config.json differs with --out-dir'
# Values are rounded to the nearest, ties to even. Converting back to float32 does not change them.
expect_exit 0 sten-convert low -o high --type f32
python3 - <<'END'
import struct
data = open("high/model.safetensors", "rb").read()
got = struct.unpack("<8f", data[-48:-16])
assert got == (1, 1 + 2**-7, 0, -(2.0**-24), -3, 0.10009765625, 0, 65536), got
END

# A GGUF file without --to gives a dense directory for transformers.
expect_exit 0 sten-convert "$STEN_SOURCE/tests/gguf/files/llama.gguf" -o gguf/ --type bf16 -q
[ -e gguf/model.safetensors ] || fail "expected gguf/model.safetensors, got: $(ls gguf)"

# F16 has a smaller range.
expect_exit 0 sten-convert model -o half --type f16 -q
python3 - <<'END'
import struct
data = open("half/model.safetensors", "rb").read()
got = struct.unpack("<8e", data[-32:-16])
assert got == (1 + 2**-8, 1 + 2**-8, 0, -(2.0**-24), -3, 0.0999755859375, 0, 65504), got
END
expect_exit 1 sten-convert large.safetensors -o never.safetensors --type f16
expect_one_line_err
held 164 expect_err "large.safetensors: 'up.weight': the value 65520 is beyond the range of F16"
[ ! -e never.safetensors ] || fail 'the failed run left an output'

# Sparse tensors keep their layout; with --to, both change, and pruning ranks the rounded values.
expect_exit 0 sten-convert model/model.safetensors -o csr.safetensors --to csr -q
expect_exit 0 sten-convert csr.safetensors -o low_csr.safetensors --type bf16
[ "$(type_of low_csr.safetensors up.weight::values)" = BF16 ] ||
  fail 'the stored values are not BF16'
expect_exit 0 sten-convert low_csr.safetensors -o dense.safetensors --to dense -q
expect_exit 0 sten-energy --diff dense.safetensors low
expect_exit 0 sten-convert model/model.safetensors -o both.safetensors --to csr --type bf16 -q
cmp <(tail -c 40 both.safetensors) <(tail -c 40 low_csr.safetensors) || fail 'converting layout and type in one step gives different values'
expect_exit 0 sten-prune model -o pruned --sparsity 0.5 --type bf16
[ "$(type_of pruned/model.safetensors up.weight)" = BF16 ] || fail 'up.weight is not BF16'
grep -q '"torch_dtype": "bfloat16"' pruned/config.json ||
  fail 'torch_dtype in config.json is not bfloat16'
expect_out 'tensors 48 B before, 32 B after'
# Two values that are equal in bfloat16: the first one is kept, though it is the smaller one.
python3 - <<'END'
import json, struct
text = json.dumps({"up.weight": {"dtype": "F32", "shape": [1, 2], "data_offsets": [0, 8]}}).encode()
open("near.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + struct.pack("<2f", 1, 1 + 2**-12))
END
expect_exit 0 sten-prune near.safetensors -o near32.safetensors --sparsity 0.5 -q
[ "$(tail -c 8 near32.safetensors | od -An -tx4 | tr -d ' ')" = 000000003f800800 ] || fail 'the larger value is not kept'
expect_exit 0 sten-prune near.safetensors -o near16.safetensors --sparsity 0.5 --type bf16 -q
[ "$(tail -c 4 near16.safetensors | od -An -tx2 | tr -d ' ')" = 3f800000 ] || fail 'pruning ranks unrounded values'

refused() { # TEXT ARGUMENT...
  expect_exit 2 "${@:2}"
  expect_one_line_err
  held 164 expect_err "$1"
}
refused '--include needs --to LAYOUT: --type is for all matrices' sten-convert model -o x --type bf16 --include up.weight
refused '--lossless excludes --type F16, which rounds values' sten-convert model -o x --type f16 --lossless
refused '--type: expected f32, f16 or bf16, or -o FILE.gguf as the output, got Q8_0' sten-convert model -o x --type q8_0
refused '--type: the weights of an ONNX model keep their type' sten-prune "$STEN_SOURCE/tests/onnx/models/gpt2-opset14.onnx" \
  -o x.onnx --sparsity 0.5 --type bf16
