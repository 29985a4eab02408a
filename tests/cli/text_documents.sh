# SPDX-License-Identifier: Apache-2.0
# sten-train on documents in JSON Lines: with completion_only_loss, only completions count in the
# loss. Invalid documents are rejected.
. "$(dirname "$0")/_lib.sh"
cd "$T"
value() { sed -nE "s/^ *\"$1\": (.*[^,]),?$/\1/p" "$T/out" | head -1; } # value KEY: the first value of KEY in the JSON output

mkdir model
printf '{"a": 0, "b": 1, "c": 2, "d": 3, "e": 4, "<|endoftext|>": 5, "Ċ": 6, "<": 7, ">": 8, "ab": 9}' >model/vocab.json
printf '#version: 0.2\na b\n' >model/merges.txt
cat >model/tokenizer_config.json <<'EOT'
{"eos_token": "<|endoftext|>", "chat_template": "{% for m in messages %}{{ '<' if m.role == 'assistant' else '>' }}{{ m.content }}{{ eos_token if m.role == 'assistant' }}{% endfor %}{{ '<' if add_generation_prompt }}"}
EOT
cat >model/config.json <<'EOT'
{"model_type": "gpt2", "vocab_size": 10, "n_positions": 24, "n_embd": 32, "n_layer": 2, "n_head": 2,
 "initializer_range": 0.1}
EOT
cat >recipe.json <<'EOT'
{"schema": 1, "model": {"kind": "decoder", "config": "model/config.json"}, "steps": 120, "batch": 8,
 "data": {"kind": "text", "text": "completions.jsonl", "vocabulary": "model", "window": 24, "train": 0.6, "validation": 0.2},
 "optimizer": {"kind": "adamw", "rate": 0.01}}
EOT
# Prompts are random; each completion follows from the end of its prompt.
awk 'BEGIN {
  srand(1)
  for (i = 0; i < 400; ++i) {
    p = ""
    for (k = 0; k < 6; ++k) p = p substr("cde", 1 + int(3 * rand()), 1)
    print "{\"prompt\": \"" p "<\", \"completion\": \">edcce\"}"
    print "{\"messages\": [{\"role\": \"user\", \"content\": \"" p "\"}, {\"role\": \"assistant\", \"content\": \"edcce\"}]}" >"chats.jsonl"
  } }' >completions.jsonl
loss() { # loss FLAG...: the validation loss after training
  rm -rf run
  expect_exit 0 sten-train recipe.json --out run --json --threads 1 "$@"
  value loss
}
all=$(loss)
completions=$(loss --set data.completion_only_loss=true)
chats=$(loss --set data.completion_only_loss=true --set data.text=chats.jsonl)
awk "BEGIN { exit !($all > 0.4 && $completions < 0.1 && $chats < 0.1) }" ||
  fail "unexpected losses: $all with prompts, $completions without, and $chats of chats"
expect_exit 0 sten-train recipe.json --dry-run --set 'data.text=["completions.jsonl", "chats.jsonl"]'
expect_exit 0 sten-prune run -o pruned --structure 2:4 --method wanda --calibrate chats.jsonl -q

refused() { # refused TEXT LINE FLAG...: training on a file with LINE fails with TEXT
  printf '%s\n' "$2" >bad.jsonl
  expect_exit 1 sten-train recipe.json --out bad --set data.text=bad.jsonl "${@:3}"
  expect_one_line_err
  held 162 expect_err "bad.jsonl: $1"
  [ ! -e bad ] || fail "'$2' left a directory"
}
only='data.completion_only_loss=true'
refused 'line 1: not JSON' '{'
refused 'expected documents, got none' ''
refused 'line 1: expected one of text, prompt and completion, or messages' '{"content": "a"}'
refused "line 1: missing 'completion'" '{"prompt": "a"}'
refused 'line 2: expected text as in line 1, got messages' $'{"text": "a"}\n{"messages": []}'
refused 'line 1: /messages: expected at least one message' '{"messages": []}'
refused 'line 1: expected prompt and completion, or messages, for completion_only_loss, got text' \
  '{"text": "a"}' --set "$only"
refused 'expected tokens of completions in the train split, got none' \
  '{"messages": [{"role": "user", "content": "abcdeabcdeabcdeabcdeabcdeabcdeabcdeabcdeabcdeabcdeabcdeabcdeabcdeabcde"}]}' --set "$only"
printf 'abcde' >bad.txt
expect_exit 1 sten-train recipe.json --out bad --set data.text=bad.txt --set "$only"
expect_one_line_err
held 162 expect_err 'bad.txt: expected prompt and completion, or messages, for completion_only_loss, got a text'
printf '{"[UNK]": 0, "x": 1}' >vocab.json
expect_exit 1 sten-train recipe.json --out bad --set data.text=bad.txt --set data.vocabulary=vocab.json
held 162 expect_err 'bad.txt: expected a text of known tokens: 100 % are unknown'
cp bad.txt more.txt
expect_exit 1 sten-train recipe.json --out bad --set 'data.text=["bad.txt", "more.txt"]' --set data.vocabulary=vocab.json
expect_one_line_err
held 162 expect_err 'vocab.json: missing eos_token, the end token after documents'
