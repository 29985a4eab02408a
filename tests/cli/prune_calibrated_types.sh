# SPDX-License-Identifier: Apache-2.0
# Calibrated pruning of weights in low precision.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_safetensors.sh"
cd "$T"

# wanda and ria copy the kept F8 values and report the relative error: (1 + 4) / 30 for weights
# 1 2 3 4 and uncorrelated inputs of equal norm.
safetensors f8.safetensors "{$(entry a.weight F8_E4M3 1,4 0 4)}" '\x38\x40\x44\x48'
safetensors equal.safetensors "{$(entry a.weight.gram F32 4,4 0 64)}" \
  "$F1$F0$F0$F0$F0$F1$F0$F0$F0$F0$F1$F0$F0$F0$F0$F1"
for method in wanda ria; do
  expect_exit 0 sten-prune f8.safetensors -o out.safetensors -f --statistics equal.safetensors --method $method --sparsity 0.5
  expect_out '0.1667'
  [ "$(data out.safetensors | od -An -tx1 | tr -d ' ')" = 00004448 ] || fail "$method: expected the F8 bytes 00 00 44 48 (values 0 0 3 4)"
done
expect_exit 2 sten-prune f8.safetensors -o never.safetensors --statistics equal.safetensors --method sparsegpt --sparsity 0.5
expect_err 'F8_E4M3 elements do not support arithmetic'

# The reported error is that of the weights after rounding to BF16, here 2.6 % lower than before.
python3 - <<'END'
import json, struct
def save(path, name, dtype, shape, data):
    text = json.dumps({name: {"dtype": dtype, "shape": shape, "data_offsets": [0, len(data)]}}).encode()
    open(path, "wb").write(struct.pack("<Q", len(text)) + text + data)
save("bf16.safetensors", "a.weight", "BF16", [1, 2], struct.pack("<2H", 0x3F80, 0x3F80))
save("alike.safetensors", "a.weight.gram", "F32", [2, 2], struct.pack("<4f", 1, 0.999, 0.999, 1))
END
expect_exit 0 sten-prune bf16.safetensors -o out.safetensors -f --statistics alike.safetensors --reconstruct --sparsity 0.5 --json
python3 - "$T/out" <<'END' || fail 'the reported error differs from that of the weights in the file'
import json, struct, sys
bits = struct.unpack("<2H", open("out.safetensors", "rb").read()[-4:])
x, y = (1 - struct.unpack("<f", struct.pack("<I", b << 16))[0] for b in bits)
wanted = (x * x + y * y + 2 * 0.999 * x * y) / 3.998
error = json.load(open(sys.argv[1]))["tensors"][0]["error"]
assert abs(error - wanted) < 1e-3 * wanted, (error, wanted)
END
