# SPDX-License-Identifier: Apache-2.0
# GGUF files are read as checkpoints, and written as Hugging Face model directories or GGUF files.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_safetensors.sh"
cd "$T"
saved=$STEN_SOURCE/tests/gguf/files
files() { (cd "$1" && find . -type f | sed 's|^./||' | LC_ALL=C sort | tr '\n' ' '); }

cp "$saved/llama.gguf" .
expect_exit 0 sten-energy llama.gguf --list
expect_out 'model.layers.1.self_attn.q_proj.weight'
expect_exit 0 sten-energy --diff llama.gguf "$saved/llama.safetensors"
expect_exit 0 sten-prune llama.gguf -o pruned.safetensors --sparsity 0.5
expect_out 'the output has only weights: -o DIR/ also writes config.json and the tokenizer'
expect_exit 0 sten-energy pruned.safetensors --against llama.gguf --min-sparsity 0.5

# For a directory that has only GGUF files as weights, the error suggests naming the file.
mkdir only
cp llama.gguf only
expect_exit 1 sten-prune only -o from-only --sparsity 0.5
expect_err 'only: expected weights, got a directory of a GGUF file (name the file: only/llama.gguf)'
cp llama.gguf only/other.gguf
expect_exit 1 sten-energy only
expect_err 'only: expected weights, got a directory of 2 GGUF files (name the file: only/llama.gguf)'

# The output DIR/ of a GGUF file is a model directory.
expect_exit 0 sten-prune llama.gguf -o pruned/ --sparsity 0.5 --dry-run
[ ! -e pruned ] || fail 'a dry run made the directory'
expect_exit 0 sten-prune llama.gguf -o pruned/ --sparsity 0.5 -q
[ "$(files pruned)" = 'config.json model.safetensors tokenizer.json tokenizer_config.json ' ] ||
  fail "pruned/ has unexpected files: $(files pruned)"
expect_exit 0 sten-energy --diff pruned/model.safetensors pruned.safetensors
for text in '"model_type": "llama"' '"num_key_value_heads": 2' '"rope_theta": 10000.0' '"rms_norm_eps": 1e-05' \
  '"tie_word_embeddings": false' '"eos_token_id": 1'; do
  grep -qF -e "$text" pruned/config.json || fail "config.json lacks $text: $(cat pruned/config.json)"
done
grep -qF '"bos_token": "<s>"' pruned/tokenizer_config.json ||
  fail 'tokenizer_config.json lacks the bos_token'
grep -qF '"merges":[["a","b"],["c","d"]]' pruned/tokenizer.json ||
  fail 'tokenizer.json lacks the merges'
expect_exit 2 sten-prune llama.gguf -o pruned/ --sparsity 0.5 -q
expect_one_line_err

# Quantized weights become BF16; --type sets the dtype of all matrices.
grep -qF '"dtype": "bfloat16"' pruned/config.json || fail 'the dtype in config.json is not bfloat16'
expect_exit 0 sten-prune llama.gguf -o f32/ --sparsity 0.5 --type f32
grep -qF 'rounded' "$T/out" && fail 'the conversion to float32 reports rounding'
grep -qF '"dtype": "float32"' f32/config.json || fail 'the dtype in config.json is not float32'
expect_exit 0 sten-prune llama.gguf -o f16/ --sparsity 0.5 --type f16
expect_out 'rounded 10 of 21 tensors to F16'
expect_exit 2 sten-prune llama.gguf -o q8/ --sparsity 0.5 --type q8_0
[ ! -e q8 ] || fail 'a rejected --type left a directory'
expect_exit 0 sten-prune llama.gguf -o typed.gguf --sparsity 0.5 --type q8_0
expect_exit 0 sten-prune llama.gguf -o small/ --sparsity 0.5 --to bitmask -q
[ -e small/model.sten.safetensors ] ||
  fail 'small/model.sten.safetensors is missing: transformers would load the sparse tensors'

# GGUF output: unchanged tensors keep their bytes; changed tensors keep their type, or become Q8_0.
expect_exit 0 sten-convert llama.gguf -o copy.gguf
cmp llama.gguf copy.gguf || fail 'the copy has different bytes'
expect_exit 0 sten-prune llama.gguf -o pruned.gguf --sparsity 0.5
expect_err "2 changed tensors, such as 'blk.0.ffn_up.weight' of Q5_1, become Q8_0: their type is only read"
expect_exit 0 sten-energy pruned.gguf --against llama.gguf --min-sparsity 0.5

# A round trip from a directory to GGUF and back keeps names, row order and sizes.
mkdir model
cp pruned/config.json pruned/tokenizer.json pruned/tokenizer_config.json model
cp "$saved/llama.safetensors" model/model.safetensors
expect_exit 0 sten-convert model -o f32.gguf --type f32
expect_exit 3 sten-energy --diff f32.gguf model
expect_out '6 of 21 tensors differ: 6 dtype'
expect_exit 0 sten-convert model -o q8.gguf --type q8_0
expect_exit 0 sten-convert q8.gguf -o q8/ --to dense
cmp q8/config.json pruned/config.json ||
  fail "the configuration changed: $(diff q8/config.json pruned/config.json)"
cmp q8/tokenizer.json pruned/tokenizer.json || fail 'the tokenizer changed'
expect_exit 0 sten-convert q8.gguf -o q8.safetensors --to dense --type f32
expect_exit 0 sten-energy --diff q8.safetensors q8.gguf
expect_exit 2 sten-convert model -o sparse.gguf --to bitmask
expect_err 'a GGUF file cannot store bitmask'
expect_exit 2 sten-convert model -o m.gguf --type q2_k
expect_one_line_err
expect_exit 2 sten-convert model -o m.safetensors --to dense --type q8_0
expect_err '--type: expected f32, f16 or bf16, or -o FILE.gguf as the output, got Q8_0'

# A directory whose only tokenizer file is the tokenizer.model of SentencePiece.
mkdir pieces
cp model/config.json pieces
cp "$STEN_SOURCE/tests/data/sentencepiece/llama.model" pieces/tokenizer.model
safetensors pieces/model.safetensors "{$(entry model.embed_tokens.weight F32 480,1 0 1920)}" "$(repeat 480 "$F1")"
expect_exit 0 sten-convert pieces -o pieces.gguf
if grep -q warning err; then fail 'a warning is printed for the tokenizer'; fi
expect_exit 0 sten-convert pieces.gguf -o back/ --to dense
grep -qF '"<0x0A>":' back/tokenizer.json || fail 'tokenizer.json lacks the byte token <0x0A>'
grep -qF '"bos_token": "<s>"' back/tokenizer_config.json ||
  fail 'tokenizer_config.json lacks the bos_token'
if grep -q chat_template back/tokenizer_config.json; then fail 'the output has a chat template'; fi
echo '{{ messages[0].content }}' >pieces/chat_template.jinja
expect_exit 0 sten-convert pieces -o pieces.gguf -f
expect_exit 0 sten-convert pieces.gguf -o chat/ --to dense
grep -qF '"chat_template": "{{ messages[0].content }}\n"' chat/tokenizer_config.json ||
  fail 'tokenizer_config.json lacks the chat template'
echo '{"added_tokens_decoder": {"999": {"content": "<image>", "special": true}}}' >pieces/tokenizer_config.json
expect_exit 0 sten-convert pieces -o pieces.gguf -f
expect_err "1 added tokens, such as '<image>' with the id 999, are left out: the embedding has 480 rows"
rm pieces/tokenizer_config.json
safetensors pieces/model.safetensors "{$(entry model.embed_tokens.weight F32 3,1 0 12)}" "$F1$F1$F1"
expect_exit 1 sten-convert pieces -o few.gguf
expect_err "pieces/tokenizer.model: token '[INST]': expected an id below 3, the rows of the embedding, got 3"
expect_one_line_err

# Buffers of older checkpoints are left out. A tied embedding is also written as the output head if
# llama.cpp needs one.
small() {
  mkdir -p "$1"
  cat >"$1/config.json" <<END
{"model_type": "$1", "vocab_size": 2, "max_position_embeddings": 4, "hidden_size": 8, "num_hidden_layers": 1,
 "intermediate_size": 4, "num_attention_heads": 1, "tie_word_embeddings": true}
END
  safetensors "$1/model.safetensors" "{$2}" "$3"
}
small gpt_neox "$(entry gpt_neox.embed_in.weight F32 2,1 0 8),$(
  entry gpt_neox.layers.0.attention.masked_bias F32 '' 8 12),$(
  entry gpt_neox.layers.0.attention.rotary_emb.inv_freq F32 1 12 16)" "$F1$F2$F0$F3"
expect_exit 0 sten-convert gpt_neox -o neox.gguf
expect_exit 0 sten-convert neox.gguf -o neox.safetensors --to dense
header neox.safetensors | grep -qF '"embed_out.weight"' ||
  fail 'neox.safetensors lacks the output head'
printf '%b' "$F1$F2$F1$F2" | cmp - <(data neox.safetensors) ||
  fail 'the output head differs from the embedding'

# llama.cpp uses the embedding of Gemma 2 as the output head, so no separate head is written.
two="$(entry model.embed_tokens.weight F32 2,1 0 8),$(entry lm_head.weight F32 2,1 8 16)"
small gemma2 "$two" "$F1$F2$F1$F2"
expect_exit 0 sten-convert gemma2 -o gemma.gguf
expect_exit 0 sten-energy gemma.gguf --list
if grep -qF lm_head "$T/out"; then fail 'the GGUF file of Gemma 2 has a separate output head'; fi
small gemma2 "$two" "$F1$F2$F1$F3"
expect_exit 1 sten-convert gemma2 -o refused.gguf
expect_err "'lm_head.weight': expected the elements of 'model.embed_tokens.weight', which llama.cpp uses as the output head"

# A value beyond the range of the type is an error.
small llama "$(entry model.embed_tokens.weight F32 2,32 0 256)" "$(repeat 63 "$F1")\x00\x24\x74\x49"
for type in f16 q4_0; do
  expect_exit 1 sten-convert llama -o refused.gguf --type $type
  expect_err "'model.embed_tokens.weight': row 1 has the value 1000000, which is beyond the range of ${type^^}"
  [ ! -e refused.gguf ] || fail 'the rejected conversion left a file'
done
expect_exit 0 sten-convert llama -o bf16.gguf --type bf16

sed -i 's/"llama"/"mamba"/' model/config.json
held 155 expect_exit 1 sten-convert model -o m.gguf --type f16
expect_err "model_type 'mamba' cannot be written as GGUF"

# Stages store only the tensors of a GGUF file; outputs that need more are rejected before training.
stages() { sten-prune llama.gguf "$@" --schedule iterative:from=0.2,to=0.4,step=0.2 --state states --finetune 'cp {in} {out}'; }
expect_exit 0 stages -o staged.safetensors -q
expect_exit 0 sten-energy staged.safetensors --against llama.gguf --min-sparsity 0.39
rm -r states
expect_exit 2 stages -o staged.gguf
expect_err '--schedule does not write GGUF'
expect_exit 2 stages -o staged/
expect_err 'prune the directory that sten-convert llama.gguf -o DIR/ --to dense writes'
[ ! -e states ] || fail 'the rejected run left a state directory'
