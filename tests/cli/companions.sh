# SPDX-License-Identifier: Apache-2.0
# Configuration, tokenizer and image processor of a model are copied with its weights.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_safetensors.sh"
cd "$T"

files() { (cd "$1" && find . -type f ! -name '.*' | sed 's|^./||' | LC_ALL=C sort | tr '\n' ' '); }
has() { [ "$(files "$1")" = "$2 " ] || fail "$1 has other files: $(files "$1")"; }
companions='config.json generation_config.json merges.txt preprocessor_config.json special_tokens_map.json spiece.model tokenizer.json'

mkdir hf
safetensors hf/model.safetensors "{$(entry a.weight F32 2,2 0 16)}" "$F1$F2$F3$F4"
for name in $companions notes.txt; do echo "{\"$name\": 1}" >hf/$name; done
: >hf/merges.txt

# A directory comes out whole.
for command in 'sten-prune --sparsity 0.5' 'sten-convert --to bitmask'; do
  rm -rf whole
  expect_exit 0 $command hf -o whole -q
  for name in $companions notes.txt; do cmp "hf/$name" "whole/$name" || fail "$command: $name differs"; done
done

# A file with -o is written alone; with --out-dir its companions are copied, and nothing else.
mkdir one
expect_exit 0 sten-prune hf/model.safetensors -o one/ --sparsity 0.5 -q
has one model.safetensors
for command in 'sten-prune --sparsity 0.5' 'sten-convert --to dense'; do
  rm -rf results
  expect_exit 0 $command hf/model.safetensors --out-dir results --dry-run
  expect_out 'companion files: config.json, generation_config.json, merges.txt,'
  [ ! -e results ] || fail "the dry run of $command writes"
  expect_exit 0 $command hf/model.safetensors --out-dir results
  expect_out 'companion files: config.json, generation_config.json, merges.txt,'
  for name in $companions; do cmp "hf/$name" "results/$name" || fail "$command: $name differs"; done
  [ ! -e results/notes.txt ] || fail 'a foreign file was copied'
done

# Without a config.json the directory is not a model's.
mkdir loose
cp hf/model.safetensors hf/tokenizer.json loose
expect_exit 0 sten-prune loose/model.safetensors --out-dir loose.out --sparsity 0.5 -q
has loose.out model.safetensors

# What is there is not replaced without --force.
echo mine >results/config.json
rm results/tokenizer.json
expect_exit 0 sten-convert hf/model.safetensors --out-dir results --to dense --skip-existing
expect_out 'companion files: tokenizer.json'
expect_out 'companion files left behind, since models or the output directory have different ones: config.json'
[ "$(cat results/config.json)" = mine ] || fail 'config.json was replaced'
expect_exit 0 sten-convert hf/model.safetensors --out-dir results --to dense --force -q
cmp hf/config.json results/config.json || fail 'config.json was not replaced'

# Two models with different files of one name.
cp -r hf other
mv other/model.safetensors other/second.safetensors
echo other >other/config.json
expect_exit 0 sten-convert hf/model.safetensors other/second.safetensors --out-dir both --to dense
expect_out 'left behind, since models or the output directory have different ones: config.json'
[ ! -e both/config.json ] || fail 'one of two configurations was taken'
cmp hf/tokenizer.json both/tokenizer.json || fail 'equal files were not copied'

# A training run has them of its config and weights; tokenizer files of a vocabulary that is a directory.
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
  cmp bert/$name.json run/$name.json || fail "the run has another $name.json"
done
[ ! -e run/notes.txt ] || fail 'a foreign file was copied'
expect_exit 0 sten-train directory.json --out run -q --force
expect_exit 0 sten-train file.json --out of.file -q
[ -e of.file/generation_config.json ] || fail 'generation_config.json was left behind'
[ ! -e of.file/added_tokens.json ] || fail 'tokenizer files were added to a chosen vocabulary'
# Weights that are a file bring those beside them.
cp -r run start
echo '{"chat": 1}' >start/processor_config.json
expect_exit 0 sten-train directory.json --out next -q --set model.weights=start/model.safetensors
cmp start/processor_config.json next/processor_config.json || fail 'the companion of the weights is missing'

# And the run's directory keeps them when it is pruned.
expect_exit 0 sten-prune run -o pruned --sparsity 0.5 -q
[ -e pruned/generation_config.json ] || fail 'generation_config.json was left behind'
[ ! -e pruned/metrics.jsonl ] || fail 'results of the run were copied'
