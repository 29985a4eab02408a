# SPDX-License-Identifier: Apache-2.0
# sten-prune removes the layers and experts of a small decoder that have the least influence on a
# text.
. "$(dirname "$0")/_lib.sh"
cd "$T"
model() { # NAME: a model of tests/nn/decoders with a tokenizer
  cp -r "$STEN_SOURCE/tests/nn/decoders/$1" "$1"
  rm "$1/cases.safetensors"
  cp vocab.json "$1"
}
python3 - <<'END'
import json, string
letters = (string.ascii_letters + string.digits)[:61]
json.dump({c: i for i, c in enumerate(letters)}, open("vocab.json", "w"))
open("text.txt", "w").write("".join(letters[(7 * i + i * i // 5) % 61] for i in range(2000)))
END
drop() { # EXIT ARGUMENT...
  expect_exit "$1" sten-prune "${@:2}" --calibrate text.txt --calibrate-samples 4 --calibrate-window 32
}
same() { # A B: both models compute the same logits
  expect_exit 0 sten-run "$1" --data text.txt --window 32 --against "$2" --max-difference 0
}

# Removing a layer that computes the identity does not change the logits.
model gemma3
expect_exit 0 sten-prune gemma3 -o identity --sparsity 1 --force -q --include 'model.layers.1.self_attn.o_proj.weight' \
  --include 'model.layers.1.mlp.down_proj.weight'
drop 0 identity -o two --drop-layers 1 --json
expect_out '"removed 1 of 3 layers: 1"'
expect_out '"layers_after": 2'
grep -A 2 '"layer": 1,' out | grep -q '"influence": 0.0,' ||
  fail 'the influence of the identity layer is not 0'
same identity two
grep -q '"num_hidden_layers": 2,' two/config.json ||
  fail "expected 2 layers in config.json: $(cat two/config.json)"
expect_exit 0 sten-energy two/model.safetensors --list
expect_out 'model.layers.1.mlp.down_proj.weight'
! grep -q 'model.layers.2' out || fail 'the layers after the removed one were not renumbered'
# The second layer to remove is the one with the next smallest influence. A dry run writes nothing.
drop 0 identity --dry-run --drop-layers 2
expect_out 'removed 2 of 3 layers'
expect_out 'dry run: nothing was written'

# Removing an expert without tokens does not change the logits. With one expert per token and two
# equal rows of the router, the second of these experts gets no tokens.
model mixtral
sed -i 's/"num_experts_per_tok": 2/"num_experts_per_tok": 1/' mixtral/config.json
python3 - <<'END'
import json, struct
data = bytearray(open("mixtral/model.safetensors", "rb").read())
size = struct.unpack("<Q", data[:8])[0]
for name, entry in json.loads(data[8 : 8 + size]).items():
    if name.endswith("gate.weight"):
        begin = 8 + size + entry["data_offsets"][0]
        row = 4 * entry["shape"][1]
        data[begin + 2 * row : begin + 3 * row] = data[begin : begin + row]
open("mixtral/model.safetensors", "wb").write(data)
END
drop 0 mixtral -o three --drop-experts 1 --json
expect_out '"removed_experts": "2"'
grep -q '"router_weight": 1.0' out || fail 'the report lacks router weights'
! grep '"router_weight"' out | grep -v ': 1.0' || fail 'an expert with tokens was removed'
same mixtral three
grep -q '"num_local_experts": 3,' three/config.json ||
  fail "expected 3 experts in config.json: $(cat three/config.json)"
# Experts and layers are removed in one run, and experts from a tensor that stacks them.
drop 0 mixtral -o both --drop-experts 2 --drop-layers 1
expect_exit 0 sten-run both --data text.txt --window 32
model qwen3_moe-stacked
drop 0 qwen3_moe-stacked -o stacked --drop-experts 1
expect_exit 0 sten-run stacked --data text.txt --window 32
# Removing a layer from a sharded model gives the same logits as from a single file.
python3 - <<'END'
import json, os, struct
data = open("identity/model.safetensors", "rb").read()
size = struct.unpack("<Q", data[:8])[0]
entries = json.loads(data[8 : 8 + size])
entries.pop("__metadata__", None)
os.makedirs("shards")
where = {}
for shard in (1, 2):
    file = f"model-0000{shard}-of-00002.safetensors"
    header, body = {"__metadata__": {"format": "pt"}}, b""
    for name, e in entries.items():
        if (shard == 1) != ("layers.1." in name):
            continue
        a, b = e["data_offsets"]
        header[name] = {**e, "data_offsets": [len(body), len(body) + b - a]}
        body += data[8 + size + a : 8 + size + b]
        where[name] = file
    text = json.dumps(header).encode()
    open("shards/" + file, "wb").write(struct.pack("<Q", len(text)) + text + body)
json.dump({"metadata": {}, "weight_map": where}, open("shards/model.safetensors.index.json", "w"))
END
cp identity/*.json shards
drop 0 shards -o two-shards --drop-layers 1 -q
same identity two-shards

# Invalid requests are rejected before anything is written.
refused() { # EXIT TEXT MODEL ARGUMENT...
  drop "$1" "$3" -o none "${@:4}"
  expect_one_line_err
  held 163 expect_err "$2"
  [ ! -e none ] || fail "'${*:3}' left an output"
}
refused 2 '--drop-layers must be >= 1, got 0' identity --drop-layers 0
refused 2 'identity: --drop-layers must be at most 2, since the model has 3 layers, got 3' identity --drop-layers 3
refused 2 '--drop-experts expected a mixture of experts, got model_type '"'gemma3_text'" identity --drop-experts 1
refused 2 'three: --drop-experts must be at most 2, since tokens have 1 of 3 experts (num_experts_per_tok), got 3' three --drop-experts 3
refused 2 '--drop-layers and --sparsity exclude each other (run sten-prune once for each)' identity --drop-layers 1 --sparsity 0.5
refused 2 '--drop-experts and --structure exclude each other' three --drop-experts 1 --structure 2:4
refused 2 '--drop-layers and --summary exclude each other' identity --drop-layers 1 --summary
refused 2 'model.safetensors: --drop-layers expected a Hugging Face directory, got a file' identity/model.safetensors --drop-layers 1
refused 2 'expected a causal language model, got a model of kind bert' "$STEN_SOURCE/recipes/models/shakespeare-bert" --drop-layers 1
drop 2 identity -o x.gguf --drop-layers 1
expect_err 'x.gguf: --drop-layers expected a directory as -o, got a GGUF file'
expect_exit 2 sten-prune identity -o none --drop-layers 1
expect_err '--drop-layers needs --calibrate DATA'
