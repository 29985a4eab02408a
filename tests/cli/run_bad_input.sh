# SPDX-License-Identifier: Apache-2.0
# sten-run reports a model or input that it cannot run in one line, with the file or flag, and
# writes nothing.
. "$(dirname "$0")/_lib.sh"
cd "$T"
bert=$STEN_SOURCE/recipes/models/shakespeare-bert
# array FILE DESCR SHAPE HEX: a .npy file.
array() {
  { printf '\223NUMPY\001\000v\000%-117s\n' "{'descr': '$2', 'fortran_order': False, 'shape': ($3), }" &&
    printf '%b' "$(printf '%s' "$4" | sed 's/../\\x&/g')"; } >"$1"
}
repeat() { for _ in $(seq "$2"); do printf '%s' "$1"; done; } # repeat HEX TIMES
one=0000803f nan=0000c07f
array ids.npy '<i8' '2, 4' "$(repeat 0a00000000000000 8)"
array far.npy '<i8' '2, 4' "$(repeat 0a01000000000000 8)"
array negative.npy '<i8' '2, 4' "$(repeat ffffffffffffffff 8)"
array floats.npy '<f4' '2, 4' "$(repeat $one 8)"
array line.npy '<i8' '8,' "$(repeat 0a00000000000000 8)"
array rows3.npy '<i8' '3, 4' "$(repeat 0000000000000000 12)"
array places5.npy '<i8' '5,' "$(repeat 0000000000000000 5)"
array wide.npy '<i8' '1, 600' "$(repeat 0a00000000000000 600)"
array x.npy '<f4' '2, 3' "$(repeat $one 6)"
array x4.npy '<f4' '2, 4' "$(repeat $one 8)"
array x64.npy '<f8' '2, 3' "$(repeat 9a9999999999b93f 6)"
array y.npy '<i8' '2,' "$(repeat 0100000000000000 2)"
array y3.npy '<i8' '3,' "$(repeat 0100000000000000 3)"
array y9.npy '<i8' '2,' "$(repeat 0900000000000000 2)"
array ynan.npy '<f4' '2,' "$(repeat $nan 2)"
printf '1,0,1,0\n0,1,1,1\n1,1,0,1\n0,0,1,0\n1,0,0,1\n' >rows.csv
cat >recipe.json <<'EOT'
{"schema": 1, "model": {"kind": "mlp", "sizes": [3, 4, 2]}, "steps": 4, "batch": 2, "products": "own",
 "data": {"kind": "csv", "file": "rows.csv", "train": 0.6, "validation": 0.0}}
EOT
sten-train recipe.json --out run -q --threads 1
weights=run/model.safetensors

refused() { # refused CASE CODE TEXT ARGUMENT...
  local number=$1 code=$2 text=$3
  shift 3
  expect_exit "$code" sten-run "$@" -o never.npy
  expect_one_line_err
  held "$number" expect_err "$text"
  [ ! -e never.npy ] || fail "'$*' wrote an output"
}

refused 115 2 'x.npy: expected a model, got an array' x.npy --input x.npy
refused 115 2 'expected a model, got only weights (--config takes' $weights --input x.npy
refused 115 1 'missing: No such file' missing --input x.npy
printf '{"a": 1}' >foreign.json
refused 115 1 'foreign.json: expected a recipe, a graph, an ONNX model or' $weights --input x.npy --config foreign.json
printf '{"hidden_size": ' >cut.json
refused 115 1 'cut.json: ' $weights --input x.npy --config cut.json
mkdir graph && cp $weights graph/model.safetensors && printf '{"nodes": 3}' >graph/graph.json
refused 115 1 'graph/graph.json: ' graph --input x.npy

mkdir spans && cp "$bert"/*.json "$bert/model.safetensors" spans
sed -i 's/BertForMaskedLM/BertForQuestionAnswering/' spans/config.json
refused 115 2 'spans/config.json: /architectures: expected one of BertForMaskedLM, BertForPreTraining, ' spans --input ids.npy

refused 116 1 'not fit the model: ' $weights --input ids.npy --config "$bert/config.json"
sed 's/\[3, 4, 2\]/[3, 5, 2]/' recipe.json >other.json
refused 116 1 "layers.0.weight is [4, 3], expected [5, 3]" $weights --data other.json

refused 117 2 "unknown input 'idz' of" "$bert" --input idz=ids.npy
refused 117 2 "duplicate input 'input_ids'" "$bert" --input input_ids=ids.npy --input input_ids=ids.npy
refused 117 2 'missing inputs input_ids' "$bert" --input position_ids=line.npy
refused 117 2 "unknown input 'layers.0.weight' of" run --input layers.0.weight=x.npy

refused 117 2 'standard input cannot be both an --input and the --labels' run --input - --labels -
refused 117 2 'standard input cannot be both the model and an --input' - --input x=-

refused 118 1 'line.npy: shape is [8], but the model' "$bert" --input line.npy
refused 118 1 "batch is 3, but in 'input_ids' 2" "$bert" --input input_ids=ids.npy --input token_type_ids=rows3.npy
refused 118 1 "tokens is 5" "$bert" --input input_ids=ids.npy --input position_ids=places5.npy
refused 118 1 "x4.npy: shape is [2, 4], but the model's input 'x' takes [batch, 3]" run --input x4.npy
refused 118 2 'position' "$bert" --input wide.npy
refused 118 2 '--input: 600 tokens exceed the 128 positions of' "$STEN_SOURCE/tests/gguf/files/llama.gguf" --input wide.npy

refused 119 1 'floats.npy: elements are F32, but the model takes I64' "$bert" --input floats.npy
refused 119 1 'x64.npy: element [0, 0] is 0.1, not exact in F32' run --input x64.npy
refused 119 2 'ids[0, 0] is 266, but the table' "$bert" --input far.npy
refused 119 2 'ids[0, 0] is -1' "$bert" --input negative.npy

refused 120 1 'y3.npy: expected 2 rows, as in the inputs, got shape [3]' run --input x.npy --labels y3.npy
refused 120 1 'label 9 is out of range: output' run --input x.npy --labels y9.npy
refused 120 1 'ynan.npy: ' run --input x.npy --labels ynan.npy
refused 120 2 '--labels needs --input' run --labels y.npy

: >empty.csv
refused 121 1 'empty.csv: ' run --data empty.csv
refused 121 2 'the validation split is empty: data.validation is 0; --split test has rows' run --split validation
refused 121 2 'images, got masked-text' run --data "$STEN_SOURCE/recipes/shakespeare-bert-dense.json"
refused 121 2 'missing inputs: name arrays with --input' "$bert"
mkdir states && cp "$bert"/*.json "$bert/model.safetensors" states
sed -i 's/BertForMaskedLM/BertModel/' states/config.json
refused 121 2 'states/config.json is a BertModel, which has no loss (use --input)' states --data rows.csv
expect_exit 0 sten-run states --input ids.npy --threads 1
expect_out last_hidden_state
# Training adds a language model head, which the saved config names.
head -c 4000 "$STEN_SOURCE/recipes/data/tinyshakespeare.txt" >short.txt
expect_exit 0 sten-train "$STEN_SOURCE/recipes/shakespeare-bert-dense.json" --out words -q --threads 1 --set steps=1 --set rate.warmup=0 \
  --set batch=2 --set data.text="$PWD/short.txt" --set model.config="$PWD/states/config.json" --set model.weights="$bert/model.safetensors"
grep -q BertForMaskedLM words/config.json || fail "words/config.json does not name BertForMaskedLM"
refused 121 2 '--input and --data exclude each other' run --input x.npy --data rows.csv

expect_exit 2 sten-run run -o nothing=y2.npy
held 122 expect_err "unknown output 'nothing' of "
expect_exit 2 sten-run run -o y2.txt
held 122 expect_err 'expected a .npy file for one output'
expect_exit 2 sten-run run -o run/model.safetensors -f
held 122 expect_err 'run/model.safetensors'

refused 123 2 '--max-difference needs --against' run --max-difference 1
refused 123 2 '--min-accuracy needs --labels' run --input x.npy --min-accuracy 1
refused 123 2 '--min-accuracy' run --min-accuracy 1.5
refused 123 2 '--max-difference must be >= 0, got nan' run --against run --max-difference nan
refused 123 2 '--max-difference must be >= 0, got -1' run --against run --max-difference -1
refused 123 2 '--max-loss must be a number, got nan' run --max-loss nan
refused 123 2 '--config: expected a weights-only model' run --config recipe.json
refused 123 2 "run takes x, but $bert takes input_ids, position_ids, token_type_ids: expected the same inputs" run \
  --input x.npy --against "$bert"
array none.npy '<i8' '2,' "$(repeat 9cffffffffffffff 2)"
refused 123 3 'no label counts' run --input x.npy --labels none.npy --max-loss 1
sed 's/\[3, 4, 2\]/[3, 4, 5]/' recipe.json >five.json
sten-train five.json --out five -q --threads 1
refused 123 1 "is F32 [2, 2], but 'layers.1' of five is F32 [2, 5]" run --against five
refused 123 2 "'nowhere' matches none" run --layouts 'nowhere=csr'
refused 123 2 "layers.0.weight" run --layouts 'layers.0.weight=nm:n=1,m=4'

# Options that --fill would ignore are rejected.
of_text() { # of_text TEXT ARGUMENT...
  expect_exit 2 sten-run "${@:2}"
  expect_one_line_err
  held 123 expect_err "$1"
}
of_text '--fill excludes --batch, --repeats and --explain' "$bert" --fill 'a[MASK]' --explain
of_text '--fill excludes --min-accuracy' "$bert" --fill 'a[MASK]' --min-accuracy 0.9
of_text '--fill: expected a BertForMaskedLM, got states/config.json' states --fill 'a[MASK]'
of_text '--config: expected a weights-only model' "$bert" --fill 'a[MASK]' --config recipe.json
of_text "'nowhere' matches none" "$bert" --fill 'a[MASK]' --layouts 'nowhere=csr'

# Models that cannot generate text, and texts that cannot be continued.
printf '{"[UNK]": 0, "a": 1, "b": 2, "c": 3}' >vocab.json
for _ in $(seq 60); do printf abc; done >text.txt
printf '{"model_type": "gpt2", "vocab_size": 4, "n_positions": 8, "n_embd": 8, "n_layer": 1, "n_head": 2}' >config.json
cat >gpt.json <<'EOT'
{"schema": 1, "model": {"kind": "gpt", "config": "config.json"}, "steps": 2, "batch": 2, "products": "own",
 "data": {"kind": "text", "text": "text.txt", "vocabulary": "vocab.json", "window": 8}}
EOT
sten-train gpt.json --out gpt -q --threads 1
generates() { # generates CASE TEXT ARGUMENT...
  local number=$1 text=$2
  shift 2
  expect_exit 2 sten-run "$@"
  expect_one_line_err
  held "$number" expect_err "$text"
}
generates 124 "attention.self': attention is not causal" "$bert" --generate 5 --text 'To be'
generates 124 "unexpected input 'x'" run --generate 5 --text a
generates 124 'expected a masked language model, got the decoder' gpt --fill 'a[MASK]'
mkdir alone && cp gpt/model.safetensors gpt/config.json alone
generates 124 'tokenizer not found beside alone' alone --generate 5 --text a
generates 124 '--generate excludes --input' gpt --generate 5 --text a --input ids.npy
generates 124 '--generate excludes --max-difference' gpt --generate 5 --text a --max-difference 1
generates 124 '--config: expected a weights-only model' gpt --generate 5 --text a --config gpt/recipe.json
generates 125 "--generate needs --prompt" gpt --generate 5
generates 125 "--generate needs --prompt" gpt --generate 5 --text ''
generates 125 "the character 'x' has no id in gpt/vocab.json" gpt --generate 5 --text 'abx'
generates 125 "the character 'ü' has no id" gpt --generate 5 --text 'aübc'
expect_exit 1 sten-run gpt --generate 5 --text "$(printf 'a\377')"
held 125 expect_err 'invalid UTF-8'
generates 126 '3 tokens and 6 more exceed the 8 positions of gpt' gpt --generate 6 --text abc
generates 126 '--generate' gpt --generate 0 --text abc
generates 126 '--generate' gpt --generate -3 --text abc
generates 126 '--temperature must be > 0, got 0' gpt --generate 2 --text abc --temperature 0
generates 126 '--temperature must be > 0, got nan' gpt --generate 2 --text abc --temperature nan
generates 126 '--top-k must be >= 1, got 0' gpt --generate 2 --text abc --temperature 1 --top 0
generates 126 '--top-p must be > 0 and <= 1, got 1.5' gpt --generate 2 --prompt abc --temperature 1 --top-p 1.5
generates 126 '--min-p must be in [0, 1], got -1' gpt --generate 2 --prompt abc --temperature 1 --min-p -1
generates 126 '--repetition-penalty must be > 0, got 0' gpt --generate 2 --prompt abc --repetition-penalty 0
generates 126 '--stop has an empty value' gpt --generate 2 --prompt abc --stop ''
generates 126 'options of text generation need --generate N' gpt --stop a
generates 126 '--batch needs --prompts' gpt --generate 2 --prompt abc --batch 2
generates 126 '--top-k needs --temperature' gpt --generate 2 --text abc --top 3
generates 126 '--prompt needs --generate' gpt --text abc
prompts() { # prompts TEXT LINE: the error for a file of prompts with LINE
  printf '%s\n' '{"prompt": "a"}' "$2" >prompts.jsonl
  expect_exit "${code:-1}" sten-run gpt --generate 2 --prompts prompts.jsonl
  expect_one_line_err
  held 146 expect_err "$1"
}
prompts "prompts.jsonl: line 2: not JSON" '{"prompt": "a"'
prompts "prompts.jsonl: line 2" '{"text": "a"}'
prompts "prompts.jsonl: line 2: /prompt" '{"prompt": 3}'
prompts "prompts.jsonl: line 2" '["a"]'
code=2 prompts "prompts.jsonl: line 2: expected a prompt of 1 token or more" '{"prompt": ""}'
code=2 prompts "prompts.jsonl: line 2: the character 'x' has no id" '{"prompt": "x"}'
code=2 prompts "prompts.jsonl: line 2: 9 tokens and 2 more exceed the 8 positions" '{"prompt": "abcabcabc"}'
echo >empty.jsonl
expect_exit 1 sten-run gpt --generate 2 --prompts empty.jsonl
held 146 expect_err 'empty.jsonl: expected prompts, got none'
expect_exit 1 sten-run gpt --generate 2 --prompt-file missing.txt
held 146 expect_err 'missing.txt'
generates 146 '--prompt, --prompt-file, --prompts and --chat exclude each other' gpt --generate 2 --prompt a \
  --prompts prompts.jsonl
chats() { # chats CODE TEXT MESSAGES ARGUMENT...
  expect_exit "$1" sten-run gpt --generate 2 --chat "$3" "${@:4}"
  expect_one_line_err
  held 147 expect_err "$2"
}
chats 2 'chat template not found beside gpt/' '[{"role": "user", "content": "a"}]'
echo '{"chat_template": "{{ messages | frobnicate }}"}' >gpt/tokenizer_config.json
chats 2 'line 1: unsupported filter frobnicate' '[{"role": "user", "content": "a"}]'
echo '{"chat_template": "{{ raise_exception(messages[0].role) }}"}' >gpt/tokenizer_config.json
chats 2 'line 1: assistant' '[{"role": "assistant", "content": "a"}]'
chats 1 "/0/role: expected system, user or assistant, got 'tool'" '[{"role": "tool", "content": "a"}]'
chats 1 '/0' '[{"role": "user"}]' --raw
chats 1 'expected at least one message' '[]' --raw
chats 2 '--chat: not JSON' '[{' --raw
chats 1 'chat.json' chat.json --raw
rm gpt/tokenizer_config.json
expect_exit 2 sten-run gpt --generate 2 --prompt a --raw
held 147 expect_err '--raw needs --chat'
for ends in '"x"' '[1, "x"]' '{}'; do
  echo "{\"eos_token_id\": $ends}" >gpt/generation_config.json
  expect_exit 1 sten-run gpt --generate 2 --prompt a
  expect_one_line_err
  held 148 expect_err 'gpt/generation_config.json: /eos_token_id'
done
rm gpt/generation_config.json
evaluates() { # evaluates CODE TEXT ARGUMENT...
  expect_exit "$1" sten-run "${@:3}"
  expect_one_line_err
  held 149 expect_err "$2"
}
printf 'abcabcabcabc' >abc.txt
evaluates 2 '--window 9 exceeds the 8 positions of gpt' gpt --data abc.txt --window 9
evaluates 2 '--stride must be 1 to --window 4, got 5' gpt --data abc.txt --window 4 --stride 5
evaluates 2 "--window '1' is not within" gpt --data abc.txt --window 1
evaluates 2 '--stride needs --data of a text' gpt --stride 2
evaluates 2 '--window needs --data, got --input' gpt --input ids.npy --window 4
evaluates 2 'expected a causal language model, got a BERT' "$bert" --data abc.txt --window 4
evaluates 2 '--max-perplexity needs a text and a causal language model' run --max-perplexity 3
evaluates 2 '--max-perplexity must be a number, got nan' gpt --data abc.txt --max-perplexity nan
printf 'a' >one.txt
evaluates 1 'one.txt: expected 2 tokens or more, got 1' gpt --data one.txt --window 4
evaluates 2 '--generate excludes' gpt --generate 2 --prompt a --window 4
questions() { # questions TEXT LINE: the error for a file of questions with LINE
  printf '%s\n' '{"prompt": "a", "choices": ["b", "c"], "answer": 0, "delimiter": ""}' "$2" >questions.jsonl
  expect_exit 1 sten-run gpt --data questions.jsonl
  expect_one_line_err
  held 150 expect_err "questions.jsonl: line 2: $1"
}
questions 'not JSON' '{'
questions '' '{"prompt": "a", "answer": 0}'
questions '/choices' '{"prompt": "a", "choices": "b", "answer": 0}'
questions '/answer: expected an index of the 1 choices, got 1' \
  '{"prompt": "a", "choices": ["b"], "answer": 1, "delimiter": ""}'
questions "choice '' has no tokens" '{"prompt": "a", "choices": [""], "answer": 0, "delimiter": ""}'
questions '11 tokens exceed the 8 positions of gpt' \
  '{"prompt": "abcabc", "choices": ["abcabc"], "answer": 0, "delimiter": ""}'
questions 'expected a prompt, since the tokenizer has no start token' \
  '{"prompt": "", "choices": ["abc"], "answer": 0, "delimiter": ""}'
# Unicode white space at the end of a prompt counts as part of the choice.
questions 'expected a prompt, since the tokenizer has no start token' \
  '{"prompt": "\u3000", "choices": ["abc"], "answer": 0, "delimiter": ""}'
echo >questions.jsonl
expect_exit 1 sten-run gpt --data questions.jsonl
held 150 expect_err 'questions.jsonl: expected questions, got none'
expect_exit 2 sten-run gpt --data questions.jsonl --window 4
held 150 expect_err '--window needs --data of a text, got questions'
