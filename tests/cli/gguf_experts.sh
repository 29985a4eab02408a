# SPDX-License-Identifier: Apache-2.0
# Differences between GGUF files and Hugging Face checkpoints: GGUF stores the matrices of all
# experts as one stacked tensor, and the rotary embedding factors as a tensor.
. "$(dirname "$0")/_lib.sh"
cd "$T"
saved=$STEN_SOURCE/tests/gguf/files
npy() { printf '\x93NUMPY\x01\x00\x76\x00%-117s\n' "{'descr': '<i8', 'fortran_order': False, 'shape': (1, 4), }" && printf '%b' "$1"; }
npy '\x07\0\0\0\0\0\0\0\x0b\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\x14\0\0\0\0\0\0\0' >ids.npy

# Each expert of a GGUF file is listed, pruned by a pattern and run like any other tensor.
cp "$saved/experts.gguf" .
expect_exit 0 sten-energy --diff experts.gguf "$saved/experts.safetensors"
expect_exit 0 sten-energy experts.gguf --list --include '*.experts.*'
expect_out 'model.layers.0.mlp.experts.2.down_proj.weight'
expect_exit 0 sten-run experts.gguf --input input_ids=ids.npy -o experts.npy
expect_exit 0 sten-convert experts.gguf -o copy.gguf
cmp experts.gguf copy.gguf || fail 'the copy has different bytes'

# If one expert is pruned, its stack keeps a type that stores zeros exactly; otherwise all experts
# of the stack become Q8_0.
expect_exit 0 sten-prune experts.gguf -o pruned.gguf --sparsity 0.5 --include '*.experts.1.*'
expect_err "1 changed tensors, such as 'blk.0.ffn_up_exps.weight' of Q5_1, become Q8_0: their type is only read"
expect_exit 0 sten-energy pruned.gguf --include '*.experts.1.*' --min-sparsity 0.5
for same in '*.experts.[02].gate_proj.*' '*.experts.[02].down_proj.*' '*.shared_expert*'; do
  expect_exit 0 sten-energy --diff pruned.gguf experts.gguf --include "$same"
done
expect_exit 0 sten-run pruned.gguf --input input_ids=ids.npy -o pruned.npy
if cmp -s pruned.npy experts.npy; then fail 'pruning an expert does not change the logits'; fi

# A model directory stores each expert separately. Converting it to GGUF stacks the experts again.
expect_exit 0 sten-convert experts.gguf -o directory/ --to dense --type f32
for text in '"model_type": "qwen2_moe"' '"num_experts": 3' '"num_experts_per_tok": 2' '"moe_intermediate_size": 64' \
  '"shared_expert_intermediate_size": 32' '"norm_topk_prob": false' '"qkv_bias": true'; do
  grep -qF -e "$text" directory/config.json || fail "config.json lacks $text: $(cat directory/config.json)"
done
expect_exit 0 sten-run directory --input input_ids=ids.npy -o directory.npy
cmp directory.npy experts.npy || fail 'the directory gives different logits'
expect_exit 0 sten-convert directory -o again.gguf
expect_exit 0 sten-run again.gguf --input input_ids=ids.npy -o again.npy
cmp again.npy experts.npy || fail 'the GGUF file of the directory gives different logits'
expect_exit 0 sten-convert again.gguf -o again/ --to dense --type f32
cmp again/config.json directory/config.json ||
  fail "the configuration changed: $(diff again/config.json directory/config.json)"

# A Mixtral model directory as transformers writes it.
cp -r "$STEN_SOURCE/tests/nn/decoders/mixtral" mixtral
expect_exit 0 sten-convert mixtral -o mixtral.gguf
expect_err 'the GGUF file has no tokenizer'
expect_exit 0 sten-run mixtral --input input_ids=ids.npy -o mixtral.npy
expect_exit 0 sten-run mixtral.gguf --input input_ids=ids.npy -o mixtral-gguf.npy
cmp mixtral.npy mixtral-gguf.npy || fail 'Mixtral gives different logits as a GGUF file'
expect_exit 0 sten-convert mixtral.gguf -o mixtral-again/ --to dense --type f32
expect_exit 0 sten-energy --diff mixtral-again mixtral
grep -qF '"num_local_experts": 4' mixtral-again/config.json ||
  fail 'config.json lacks num_local_experts'
expect_exit 0 sten-convert mixtral -o mixtral-q8.gguf --type f16

# The rotary embedding factors of Llama 3 are not a weight in a directory: config.json stores them.
# A GGUF file of that directory stores them as a tensor again.
sten-convert "$STEN_SOURCE/tests/nn/decoders/llama" -o llama3.gguf --type f32 -q
expect_exit 0 sten-run "$STEN_SOURCE/tests/nn/decoders/llama" --input input_ids=ids.npy -o llama3.npy
sten-convert llama3.gguf -o llama3/ --to dense --type f32 -q
sten-convert llama3.gguf -o copy3.gguf -q
for model in llama3.gguf llama3 copy3.gguf; do
  expect_exit 0 sten-run $model --input input_ids=ids.npy -o again3.npy --force
  cmp again3.npy llama3.npy || fail "$model gives different logits"
done
if sten-energy llama3 --list | grep rope; then fail 'llama3 stores the rotary factors as a weight'; fi
cmp llama3.gguf copy3.gguf || fail 'the copy of the Llama 3 file has different bytes'

# Models that llama.cpp computes differently, and experts that cannot be stacked, are rejected.
refused() {
  sed -i "$2" "$1/config.json"
  held 157 expect_exit 1 sten-convert "$1" -o refused.gguf
  expect_err "$3"
  [ ! -e refused.gguf ] || fail 'a rejected model left a file'
}
refused directory 's/"norm_topk_prob": false/"norm_topk_prob": true/' \
  "'norm_topk_prob': expected false, as llama.cpp computes qwen2moe"
refused directory 's/"decoder_sparse_step": 1/"decoder_sparse_step": 2/; s/"norm_topk_prob": true/"norm_topk_prob": false/' \
  'expected experts in every layer, as llama.cpp computes qwen2moe'
refused mixtral 's/"num_local_experts": 4/"num_local_experts": 5/' \
  "'model.layers.0.block_sparse_moe.experts.0.w2.weight' and the others of its layer: expected 5 experts, got 4"
refused mixtral 's/"num_local_experts": 5/"num_local_experts": 3/' \
  "'model.layers.0.block_sparse_moe.experts.3.w1.weight': expected one of 3 experts"
refused mixtral 's/"num_experts_per_tok": 2/"num_experts_per_tok": null/' "missing 'num_experts_per_tok'"
refused mixtral 's/"mixtral"/"mistral"/' 'experts of a llama are not supported in GGUF'
