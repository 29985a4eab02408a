# SPDX-License-Identifier: Apache-2.0
# Text models with WordPiece and byte-pair encoding from Hugging Face files.
. "$(dirname "$0")/_lib.sh"

cd "$T"
for ((i = 0; i < 200; ++i)); do echo 'To be, or not to be: that is the question.'; done >text.txt
mkdir bert gpt
printf '%s\n' '[PAD]' '[UNK]' '[CLS]' '[SEP]' '[MASK]' to be or not that is the quest '##ion' , : . >bert/vocab.txt
echo '{"vocab_size": 17, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2,
  "intermediate_size": 32, "max_position_embeddings": 16, "initializer_range": 0.2}' >bert/config.json
printf '{"schema": 1, "steps": 600, "batch": 16, "optimizer": {"kind": "adamw", "rate": 0.01},
  "model": {"kind": "bert", "config": "bert/config.json"},
  "data": {"kind": "masked-text", "text": "text.txt", "vocabulary": "bert", "window": 16}}' >words.json
expect_exit 0 sten-train words.json --out run
cmp bert/vocab.txt run/vocab.txt || fail 'vocab.txt of the run differs from the input'
[ ! -e run/vocab.json ] || fail 'the run wrote a vocab.json, which the input lacks'
expect_exit 0 sten-run run --fill 'To be, or not to be: [MASK] is the question.'
expect_out 'To be, or not to be: that is the question.'

# Byte-pair merges that build "the" and " the".
printf '{"t": 0, "h": 1, "e": 2, "\\u0120": 3, "th": 4, "the": 5, "\\u0120the": 6}' >gpt/vocab.json
printf '#version: 0.2\nt h\nth e\n\304\240 the\n' >gpt/merges.txt
echo '{"model_type": "gpt2", "vocab_size": 7, "n_positions": 16, "n_embd": 16, "n_layer": 1, "n_head": 2}' >gpt/config.json
for ((i = 0; i < 400; ++i)); do printf ' the h'; done >the.txt
printf '{"schema": 1, "steps": 60, "batch": 8, "optimizer": {"kind": "adamw", "rate": 0.01},
  "model": {"kind": "gpt", "config": "gpt/config.json"},
  "data": {"kind": "text", "text": "the.txt", "vocabulary": "gpt/vocab.json", "window": 8}}' >bytes.json
expect_exit 0 sten-train bytes.json --out pairs
cmp gpt/merges.txt pairs/merges.txt || fail 'merges.txt of the run differs from the input'
expect_exit 0 sten-run pairs --generate 3 --text ' the'
expect_out ' the h the'

# A vocabulary with more tokens than the model's vocab_size.
sed -i 's/"vocab_size": 17/"vocab_size": 16/' bert/config.json
expect_exit 1 sten-train words.json --out no
expect_one_line_err
expect_err 'vocab.txt: ids up to 16 are out of range: '
