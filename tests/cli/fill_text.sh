# SPDX-License-Identifier: Apache-2.0
# sten-run --fill inserts a subword that continues a word without its ## prefix.
. "$(dirname "$0")/_lib.sh"
cd "$T"
mkdir bert
printf '%s\n' '[PAD]' '[UNK]' '[CLS]' '[SEP]' '[MASK]' walk '##ing' >bert/vocab.txt
echo '{"vocab_size": 7, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2,
  "intermediate_size": 32, "max_position_embeddings": 16, "initializer_range": 0.2}' >bert/config.json
for _ in $(seq 100); do echo walkinginging; done >text.txt
printf '{"schema": 1, "steps": 60, "batch": 16, "optimizer": {"kind": "adamw", "rate": 0.01},
  "model": {"kind": "bert", "config": "bert/config.json"},
  "data": {"kind": "masked-text", "text": "text.txt", "vocabulary": "bert", "window": 8}}' >recipe.json
sten-train recipe.json --out run -q --threads 1
expect_exit 0 sten-run run --fill 'walk[MASK] walking'
expect_out '##ing'
[ "$(tail -1 out)" = 'walking walking' ] || fail "expected 'walking walking', got '$(tail -1 out)'"
