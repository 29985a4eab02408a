# SPDX-License-Identifier: Apache-2.0
# The configuration, tokenizer and image processor of a model are copied with its weights.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_safetensors.sh"
cd "$T"

files() { (cd "$1" && find . -type f ! -name '.*' | sed 's|^./||' | LC_ALL=C sort | tr '\n' ' '); }
has() { [ "$(files "$1")" = "$2 " ] || fail "$1: expected the files $2, got $(files "$1")"; }
companions='config.json generation_config.json merges.txt preprocessor_config.json special_tokens_map.json spiece.model tokenizer.json'

mkdir hf
safetensors hf/model.safetensors "{$(entry a.weight F32 2,2 0 16)}" "$F1$F2$F3$F4"
for name in $companions notes.txt; do echo "{\"$name\": 1}" >hf/$name; done
: >hf/merges.txt

# All files of an input directory are copied.
for command in 'sten-prune --sparsity 0.5' 'sten-convert --to bitmask'; do
  rm -rf whole
  expect_exit 0 $command hf -o whole -q
  for name in $companions notes.txt; do cmp "hf/$name" "whole/$name" || fail "$command: $name differs"; done
done

# For an input file, -o copies no companions, and --out-dir copies its companions only.
mkdir one
expect_exit 0 sten-prune hf/model.safetensors -o one/ --sparsity 0.5 -q
has one model.safetensors
for command in 'sten-prune --sparsity 0.5' 'sten-convert --to dense'; do
  rm -rf results
  expect_exit 0 $command hf/model.safetensors --out-dir results --dry-run
  expect_out 'companion files: config.json, generation_config.json, merges.txt,'
  [ ! -e results ] || fail "the dry run of $command created the output directory"
  expect_exit 0 $command hf/model.safetensors --out-dir results
  expect_out 'companion files: config.json, generation_config.json, merges.txt,'
  for name in $companions; do cmp "hf/$name" "results/$name" || fail "$command: $name differs"; done
  [ ! -e results/notes.txt ] || fail 'notes.txt, which is not a companion, was copied'
done

# A directory without config.json is not a model directory, so nothing is copied from it.
mkdir loose
cp hf/model.safetensors hf/tokenizer.json loose
expect_exit 0 sten-prune loose/model.safetensors --out-dir loose.out --sparsity 0.5 -q
has loose.out model.safetensors

# Existing companions are not replaced without --force.
echo mine >results/config.json
rm results/tokenizer.json
expect_exit 0 sten-convert hf/model.safetensors --out-dir results --to dense --skip-existing
expect_out 'companion files: tokenizer.json'
expect_out 'companion files left behind, since models or the output directory have different ones: config.json'
[ "$(cat results/config.json)" = mine ] || fail 'config.json was replaced'
expect_exit 0 sten-convert hf/model.safetensors --out-dir results --to dense --force -q
cmp hf/config.json results/config.json || fail 'config.json was not replaced'

# If two models have different companions of the same name, neither is copied.
cp -r hf other
mv other/model.safetensors other/second.safetensors
echo other >other/config.json
expect_exit 0 sten-convert hf/model.safetensors other/second.safetensors --out-dir both --to dense
expect_out 'left behind, since models or the output directory have different ones: config.json'
[ ! -e both/config.json ] ||
  fail 'config.json was copied although the two models have different ones'
cmp hf/tokenizer.json both/tokenizer.json ||
  fail 'tokenizer.json, which is equal in both models, was not copied'

# A training run copies the companions of its config and weights, and tokenizer files if the
# vocabulary is a directory.
mkdir bert
for ((i = 0; i < 200; ++i)); do echo 'to be or not to be'; done >text.txt
printf '%s\n' '[PAD]' '[UNK]' '[CLS]' '[SEP]' '[MASK]' to be or not >bert/vocab.txt
echo '{"vocab_size": 9, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2,
  "intermediate_size": 8, "max_position_embeddings": 8}' >bert/config.json
echo '{"max_length": 8}' >bert/generation_config.json
echo '{"size": 8}' >bert/preprocessor_config.json
echo '{}' >bert/added_tokens.json
echo mine >bert/notes.txt
recipe() { # FILE VOCABULARY
  printf '{"schema": 1, "steps": 2, "batch": 2, "optimizer": {"kind": "adamw", "rate": 0.01},
    "model": {"kind": "bert", "config": "bert"},
    "data": {"kind": "masked-text", "text": "text.txt", "vocabulary": "%s", "window": 8}}' "$2" >"$1"
}
recipe directory.json bert
recipe file.json bert/vocab.txt
expect_exit 0 sten-train directory.json --out run -q
for name in config generation_config preprocessor_config added_tokens; do
  cmp bert/$name.json run/$name.json || fail "$name.json of the run differs from that of bert"
done
[ ! -e run/notes.txt ] || fail 'notes.txt, which is not a companion, was copied'
expect_exit 0 sten-train directory.json --out run -q --force
expect_exit 0 sten-train file.json --out of.file -q
[ -e of.file/generation_config.json ] || fail 'generation_config.json was left behind'
[ ! -e of.file/added_tokens.json ] ||
  fail 'a tokenizer file was copied although the vocabulary is a file'
# If the weights are a file, the companions beside it are copied.
cp -r run start
echo '{"chat": 1}' >start/processor_config.json
expect_exit 0 sten-train directory.json --out next -q --set model.weights=start/model.safetensors
cmp start/processor_config.json next/processor_config.json || fail 'the companion of the weights is missing'

# Pruning the directory of a run copies its companions, but not the results of the run.
expect_exit 0 sten-prune run -o pruned --sparsity 0.5 -q
[ -e pruned/generation_config.json ] || fail 'generation_config.json was left behind'
[ ! -e pruned/metrics.jsonl ] || fail 'results of the run were copied'
