# SPDX-License-Identifier: Apache-2.0
# The scripts of recipes/llm prune, calibrate, recover and check a small Llama model, as a GGUF file
# and as a directory. The CI job in docs/language_models.md runs too.
. "$(dirname "$0")/_lib.sh"
cd "$T"
llm=$STEN_SOURCE/recipes/llm
export STEN_MODELS=$T/models WINDOW=16 TEXT HELD_OUT STEPS=3

# The model is trained briefly on Shakespeare; its tokenizer covers all characters of the text.
mkdir config
python3 - <<'END'
import json

ids = {c: i for i, c in enumerate(["<s>", "</s>", "Ġ", "Ċ", "th"] + [chr(c) for c in range(33, 127)])}
special = [dict(id=i, content=c, single_word=False, lstrip=False, rstrip=False, normalized=False, special=True)
           for i, c in enumerate(["<s>", "</s>"])]
byte_level = dict(type="ByteLevel", add_prefix_space=False, trim_offsets=True, use_regex=True)
json.dump(dict(version="1.0", added_tokens=special, pre_tokenizer=byte_level, decoder=byte_level,
               model=dict(type="BPE", vocab=ids, merges=[["t", "h"]])), open("config/tokenizer.json", "w"))
json.dump(dict(bos_token="<s>", eos_token="</s>"), open("config/tokenizer_config.json", "w"))
json.dump(dict(model_type="llama", vocab_size=len(ids), hidden_size=32, intermediate_size=64, num_hidden_layers=2,
               num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64, rms_norm_eps=1e-5,
               rope_theta=10000.0, hidden_act="silu", tie_word_embeddings=False, bos_token_id=0, eos_token_id=1,
               attention_bias=False, mlp_bias=False, initializer_range=0.1), open("config/config.json", "w"))
END
cat >recipe.json <<EOF
{"schema": 1, "model": {"kind": "decoder", "config": "config"}, "steps": 80, "batch": 16,
 "data": {"kind": "text", "text": "$STEN_SOURCE/recipes/data/tinyshakespeare.txt", "vocabulary": "config", "window": 16},
 "optimizer": {"kind": "adamw", "rate": 0.01}}
EOF
expect_exit 0 sten-train recipe.json --out model -q
expect_exit 0 sten-convert model -o model.gguf -q

# perplexity MODEL: the perplexity on the default text, measured by gate.sh
perplexity() {
  expect_exit 0 bash "$llm/gate.sh" "$1" 1000
  sed -n 's/.*perplexity //p' out
}
# pruned DIR: checks that the weights of the layers have the 2:4 pattern
pruned() {
  expect_exit 0 sten-energy "$1" --include 'model.layers.*proj.weight' --min-sparsity 0.5 --require 'model.layers.*=nm:n=2,m=4'
}
expect_exit 0 bash "$llm/prune.sh" model.gguf magnitude
pruned magnitude
SPARSITY=0.75 INCLUDE='model.layers.*.mlp.*.weight' expect_exit 0 bash "$llm/prune.sh" model sparse
expect_exit 0 sten-energy sparse --include 'model.layers.*.mlp.*.weight' --min-sparsity 0.749
expect_exit 0 sten-energy --diff sparse model --include '*.self_attn.*'
expect_exit 0 bash "$llm/calibrate.sh" model.gguf calibrated
expect_out 'calibrated on 64 rows'
pruned calibrated
METHOD=wanda SAMPLES=4 STRUCTURE=1:4 expect_exit 0 bash "$llm/calibrate.sh" model wanda
expect_out 'calibrated on 4 rows'
by_magnitude=$(perplexity magnitude) by_calibration=$(perplexity calibrated)
awk "BEGIN { exit !($(perplexity model) < $by_calibration && $by_calibration < $by_magnitude) }" ||
  fail "perplexity: expected dense < calibrated < magnitude, got $by_calibration and $by_magnitude"

# gate.sh ends with exit code 3 if the perplexity is above the limit.
expect_exit 3 bash "$llm/gate.sh" calibrated 2
expect_err 'above --max-perplexity 2'

# same_zeros A B: checks that the layers of A and B have the same zeros, but not all the same values
same_zeros() {
  python3 - "$1" "$2" <<'END' || fail "$2 has different zeros than $1, or the same values"
import json, struct, sys

def values(model):
    data = open(f"{model}/model.safetensors", "rb").read()
    size = struct.unpack("<Q", data[:8])[0]
    for name, t in sorted(json.loads(data[8:8 + size]).items()):
        if name.endswith("proj.weight"):
            begin, end = (8 + size + i for i in t["data_offsets"])
            width = 2 if t["dtype"] == "BF16" else 4
            for i in range(begin, end, width):
                yield struct.unpack("<f", (bytes(2) + data[i:i + 2] if width == 2 else data[i:i + 4]))[0]

a, b = (list(values(m)) for m in sys.argv[1:])
sys.exit(len(a) != len(b) or a == b or any((x == 0) != (y == 0) for x, y in zip(a, b)))
END
}
export MODEL=model.gguf
expect_exit 0 bash "$llm/recover.sh" calibrated recovered
same_zeros calibrated recovered
cp recovered/model.safetensors wanted
expect_exit 0 bash "$llm/recover.sh" calibrated recovered
cmp recovered/model.safetensors wanted || fail 'the second run of recover.sh trained again'
LORA=2 expect_exit 0 bash "$llm/recover.sh" calibrated adapted
same_zeros calibrated adapted
expect_exit 2 bash "$llm/recover.sh" model.gguf other
expect_err 'model.gguf: expected a directory'

# The steps of the CI job after the build, run by a shell with the options of CI.
awk '/^## In CI$/ { page = 1 } /^      - name: / { step = $0; body = 0 }
  page && body && /^          / { print substr($0, 11) } /^        run: [|]$/ { body = step !~ /Build sten$/ }
  /^```$/ { body = 0 }' "$STEN_SOURCE/docs/language_models.md" >job
[ "$(grep -c '^sten-' job)" = 3 ] || fail "expected 3 sten commands in the CI job, got: $(cat job)"
head -c 20000 "$STEN_SOURCE/recipes/data/tinyshakespeare.txt" | tee held_out.txt >calibration.txt
MAX_PERPLEXITY=30 expect_exit 0 sh -eu job
pruned pruned
rm -r pruned
MAX_PERPLEXITY=2 expect_exit 3 sh -eu job
