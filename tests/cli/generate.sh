# SPDX-License-Identifier: Apache-2.0
# sten-run --generate: a small GPT continues a text in any layout, greedily or by sampling.
. "$(dirname "$0")/_lib.sh"
cd "$T"
value() { sed -nE "s/^ *\"$1\": (.*[^,]),?$/\1/p" "$T/out" | head -1; } # value KEY: of the JSON document

printf '{"[UNK]": 0, "a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "\\n": 6}' >vocab.json
for _ in $(seq 100); do printf 'abcde\nabdec\n'; done >text.txt
cat >config.json <<'EOT'
{"model_type": "gpt2", "vocab_size": 7, "n_positions": 24, "n_embd": 32, "n_layer": 2, "n_head": 2,
 "initializer_range": 0.1}
EOT
cat >recipe.json <<'EOT'
{"schema": 1, "model": {"kind": "gpt", "config": "config.json"}, "steps": 80, "batch": 8,
 "data": {"kind": "text", "text": "text.txt", "vocabulary": "vocab.json", "window": 24},
 "optimizer": {"kind": "adamw", "rate": 0.01}}
EOT
sten-train recipe.json --out run -q --threads 1

# Matrices are stored as [in, out], as in transformers.
expect_exit 0 sten-energy --list run/model.safetensors
grep -q 'h.0.attn.c_attn.weight .*32x96' "$T/out" || fail 'c_attn is not [in, out]'

# The model learned two lines, and continues each one from its first characters. Only the text is
# printed to standard output.
expect_exit 0 sten-run run --generate 8 --text 'abc'
printf 'abcde\nabdec\n' | cmp - "$T/out" || fail 'standard output is not the expected text'
expect_err 'tokens a second'
printf 'abc' >prompt.txt
for prompt in "--prompt abc" "--prompt-file prompt.txt" "--prompt-file - -q"; do
  # shellcheck disable=SC2086
  sten-run run --generate 8 $prompt <prompt.txt >again 2>"$T/err"
  cmp again "$T/out" || fail "$prompt gives a different text"
done
[ ! -s "$T/err" ] || fail 'the run with -q prints to standard error'
expect_exit 0 sten-run run --generate 8 --text "$(printf 'abcde\nabd')" --json
[ "$(value text)" = '"abcde\nabdec\nabcde"' ] || fail "the report has the wrong text $(value text)"
[ "$(value prompt)" = '"abcde\nabd"' ] || fail 'the report lacks the prompt'
grep -A1 '"prefill"' "$T/out" | grep -q '"tokens": 9,' ||
  fail 'the report does not count 9 prompt tokens'
grep -A1 '"decode"' "$T/out" | grep -q '"tokens": 7,' ||
  fail 'the report does not count 7 decoded tokens'
[ -n "$(value ms_per_token)" ] || fail 'the report lacks ms_per_token'
[ "$(value tokens)" = 8 ] || fail "expected 8 generated tokens, got $(value tokens)"
# Generation up to the last position, and of a single token, which needs no decode step.
expect_exit 0 sten-run run --generate 21 --prompt abc --threads 2 --report page.html
grep -q 'tokens a second' page.html || fail 'page.html lacks the tokens per second'
expect_exit 0 sten-run run --generate 1 --text abc --report one.csv
[ "$(grep -c "^prefill\|^decode" one.csv)" = 1 ] ||
  fail 'one.csv does not have exactly one of the rows prefill and decode'

# Sampled characters depend only on the seed.
drawn() { sten-run run --generate 18 --text ab --json "$@" >"$T/out" && value text; }
first=$(drawn --temperature 3 --seed 1)
[ "$first" = "$(drawn --temperature 3 --seed 1 --threads 2)" ] ||
  fail 'the same seed samples different texts'
[ "$first" != "$(drawn --temperature 3 --seed 2)" ] || fail 'two seeds sample the same text'
[ "$(drawn --temperature 1e-300)" = "$(drawn)" ] ||
  fail 'a temperature near 0 differs from greedy decoding'
drawn --temperature 3 --seed 18446744073709551615 >/dev/null
[ "$(value seed)" = '"18446744073709551615"' ] || fail "the report has the wrong seed $(value seed)"
[ "$(drawn --temperature 3 --top 1)" = "$(drawn)" ] || fail '--top 1 differs from greedy decoding'

[ "$(drawn --temperature 3 --min-p 1)" = "$(drawn)" ] ||
  fail '--min-p 1 differs from greedy decoding'
[ "$(drawn --temperature 3 --top-p 0.01)" = "$(drawn)" ] ||
  fail '--top-p 0.01 differs from greedy decoding'
[ "$(drawn --repetition-penalty 0.001)" != "$(drawn)" ] || fail 'the repetition penalty changes nothing'

# Generation stops before a stop text, also one that spans tokens, and at the end tokens of the
# model.
expect_exit 0 sten-run run --generate 18 --prompt abc --stop nothing --stop "$(printf 'e\nab')"
printf 'abcd\n' | cmp - "$T/out" || fail 'generation does not stop before the stop text'
ended() { sten-run run --generate 18 --prompt abc --json >"$T/out" && value generated && value finish; }
[ "$(ended | tail -1)" = '"length"' ] || fail 'generation does not stop at the length limit'
echo '{"eos_token_id": 6}' >run/generation_config.json
[ "$(ended)" = "$(printf '"de"\n"end"')" ] || fail 'generation does not stop at the end token'
echo '{"eos_token_id": [0, 5]}' >run/generation_config.json
[ "$(ended)" = "$(printf '"d"\n"end"')" ] ||
  fail 'generation does not stop at one of two end tokens'
rm run/generation_config.json
# The stop text U+FFFD is found only at the end, since it could stand for an incomplete character
# until then.
cp -r run replaced
printf '{"[UNK]": 0, "a": 1, "b": 2, "c": 3, "d": 4, "\\ufffd": 5, "\\n": 6}' >replaced/vocab.json
sten-run replaced --generate 2 --prompt abc --stop "$(printf '\357\277\275')" --json >"$T/out"
[ "$(value generated) $(value finish)" = '"d" "stop"' ] ||
  fail "wrong text or finish reason: $(value generated) $(value finish)"

# Prompts run in batches. Each prompt gets the same text as alone, and the outputs keep the order of
# the prompts.
for prompt in abc a abdec ab abcdea b e "abcde\\nabd"; do
  printf '{"prompt": "%s", "id": 7}\n' "$prompt"
done >prompts.jsonl
for n in 1 3 8; do
  sten-run run --generate 9 --prompts prompts.jsonl --batch $n -q >"batch$n"
  cmp batch1 "batch$n" || fail "--batch $n gives different texts than --batch 1"
done
[ "$(sed -n 3p batch8)" = '{"prompt":"abdec","id":7,"generated":"\nabcde\nab","tokens":9,"finish":"length"}' ] ||
  fail "line 3 is wrong: $(sed -n 3p batch8)"
sten-run run --generate 9 --prompts - -q <prompts.jsonl | cmp - batch1 ||
  fail 'prompts from a pipe give different texts'
sten-run run --generate 9 --prompts prompts.jsonl --temperature 2 -q >drawn1 --batch 1
sten-run run --generate 9 --prompts prompts.jsonl --temperature 2 -q | cmp - drawn1 ||
  fail 'a batch samples different texts than --batch 1'
expect_exit 0 sten-run run --generate 9 --prompts prompts.jsonl --json
[ "$(grep -c '"generated"' "$T/out")" = 8 ] || fail 'the report does not have 8 prompts'

# --chat applies the chat template of the model, unless --raw is given.
cp -r run chat
printf '{"[UNK]": 0, "a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "\\n": 6}' >chat/vocab.json
echo '{"chat_template": "{{ \"<\" + messages[0].content }}"}' >chat/tokenizer_config.json
expect_exit 2 sten-run chat --generate 3 --chat '[{"role": "user", "content": "abc"}]'
expect_err "the character '<' has no id"
expect_exit 0 sten-run chat --generate 5 --raw --chat '[{"role": "user", "content": "abc"}]'
printf 'de\nab\n' | cmp - "$T/out" || fail 'standard output is not the expected answer'

# An interrupt stops generation after a token. All printed lines are complete.
for _ in $(seq 2000); do cat prompts.jsonl; done >many.jsonl
: >"$T/out" # clear the previous output, which the loop below would see
set -m # or the shell would let the program ignore SIGINT
sten-run run --generate 9 --prompts many.jsonl >"$T/out" 2>"$T/err" &
set +m
for _ in $(seq 200); do
  [ ! -s "$T/out" ] || break
  sleep 0.02
done
kill -INT $!
status=0
wait $! || status=$?
[ "$status" = 130 ] || fail "an interrupt ended with $status, not 130"
expect_one_line_err
expect_err 'sten-run: interrupted'
[ "$(wc -l <"$T/out")" = "$(grep -c '}$' "$T/out")" ] || fail 'a printed line is incomplete'

# Weights give the same text in every layout, and from a pipe with their recipe as --config.
same=$(drawn)
for layout in csr nmg:n=1,m=1,g=1 masked; do
  [ "$same" = "$(drawn --layouts "transformer.h.*.c_*.weight=$layout")" ] ||
    fail "layout $layout gives a different text"
done
expect_exit 0 sten-run run --generate 10 --text ab --layouts auto --explain
expect_out 'keys and values of earlier tokens are kept'
expect_out 'decode: 9 tokens'
expect_out 'KV caches: '
sten-run run --generate 10 --text ab --json -q >"$T/out"
cache=$(value cache)
sten-run run --generate 10 --text ab --precision bf16 --json -q >"$T/out"
[ "$(value cache)" -lt $((cache * 3 / 4)) ] ||
  fail "the KV caches take $cache bytes in float32 and $(value cache) bytes in bfloat16"
sten-prune run/model.safetensors -o - --sparsity 0.01 -q | sten-run - --config run/recipe.json --generate 18 --text ab \
  --json -q >"$T/out"
[ "$(value text)" = "$same" ] || fail 'weights from a pipe give a different text'

# A model that was trained sparse is stored, evaluated and run in its sparse layout.
sten-train recipe.json --out sparse -q --threads 1 --set \
  'sparsity=[{"target": "transformer.h.*.c_*.weight", "sparsifier": "nmg:n=1,m=2,g=4", "save": "nmg:n=1,m=2,g=4"}]'
expect_exit 0 sten-run sparse --max-loss 1
expect_exit 0 sten-run sparse --data text.txt --max-loss 1
expect_out 'of 1199 predictions, perplexity'
printf 'abcde\n' >short.txt
expect_exit 0 sten-run sparse --data short.txt
expect_out 'of 5 predictions, perplexity'
expect_exit 0 sten-run sparse --generate 8 --text 'abc' --explain
expect_out 'nmg:n=1,m=2,g=4'

# A model pruned in the file layout of transformers, [in, out], also runs sparse.
mkdir hf && cp run/model.safetensors run/config.json run/vocab.json hf
sten-prune hf -o small --structure nmg:n=1,m=2,g=4,axis=1 --to nmg -q
expect_exit 0 sten-run small --generate 8 --text 'abc' --explain
grep -Eq 'linear .*nmg:n=1,m=2,g=4' "$T/out" ||
  fail '--explain lists no linear operator with nmg weights'
