# sten-run --precision: bfloat16 says what float32 says, where it is wanted, of float32 and BF16 files.
. "$(dirname "$0")/_lib.sh"
cd "$T"
models="$STEN_SOURCE/recipes/models" data="$STEN_SOURCE/recipes/shakespeare-bert-dense.json"

# The shipped BERT, on its data.
expect_exit 0 sten-run "$models/shakespeare-bert" --data "$data" --precision bf16 --json \
  --against "$models/shakespeare-bert" --max-difference 1 --min-agreement 0.98 --max-loss 1.275
expect_out '"precision": "bf16"'
expect_exit 0 sten-run "$models/shakespeare-bert" --data "$data" --explain --json \
  --precision '*.query=float32' --precision bf16
expect_out '"precision": "float32"'
expect_out '"layout": "pairs"'
expect_exit 0 sten-run "$models/shakespeare-bert" --fill 'To be, or n[MASK]t to be' --precision bf16
expect_out '  11  o'

# Files of BF16 run in either precision.
python3 - "$models/shakespeare-bert/model.safetensors" bf16.safetensors <<'END'
import json, struct, sys

with open(sys.argv[1], "rb") as f:
    size = struct.unpack("<Q", f.read(8))[0]
    header, data = json.loads(f.read(size)), f.read()
out, parts, at = {}, [], 0
for name, t in header.items():
    if name == "__metadata__":
        continue
    begin, end = t["data_offsets"]
    assert t["dtype"] == "F32"
    upper = bytearray()
    for i in range(begin, end, 4):
        upper += data[i + 2 : i + 4]
    parts.append(bytes(upper))
    out[name] = {"dtype": "BF16", "shape": t["shape"], "data_offsets": [at, at + len(upper)]}
    at += len(upper)
text = json.dumps(out).encode()
with open(sys.argv[2], "wb") as f:
    f.write(struct.pack("<Q", len(text)) + text + b"".join(parts))
END
for precision in float32 bf16; do
  expect_exit 0 sten-run bf16.safetensors --data "$data" --config "$models/shakespeare-bert/config.json" \
    --precision "$precision" --against "$models/shakespeare-bert" --min-agreement 0.97
done

# What is no precision, and patterns of nothing.
expect_exit 2 sten-run "$models/shakespeare-bert" --data "$data" --precision int8
expect_err "'int8' is none of bf16"
expect_exit 2 sten-run "$models/shakespeare-bert" --data "$data" --precision 'nothing=bf16'
expect_err "--precision 'nothing' matches none of the"
expect_err 'nodes of'
