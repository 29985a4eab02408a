# SPDX-License-Identifier: Apache-2.0
# A safetensors file of F32 as BF16, cut off: _bf16.py IN OUT
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
