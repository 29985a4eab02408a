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

# As transformers has it: matrices are [in, out].
expect_exit 0 sten-energy --list run/model.safetensors
grep -q 'h.0.attn.c_attn.weight .*32x96' "$T/out" || fail 'c_attn is not [in, out]'

# What it learned, it says: of two lines, each by its first characters. The text alone is the output.
expect_exit 0 sten-run run --generate 8 --text 'abc'
printf 'abcde\nabdec\n' | cmp - "$T/out" || fail 'the text is not the output'
expect_err 'tokens a second'
printf 'abc' >prompt.txt
for prompt in "--prompt abc" "--prompt-file prompt.txt" "--prompt-file - -q"; do
  # shellcheck disable=SC2086
  sten-run run --generate 8 $prompt <prompt.txt >again 2>"$T/err"
  cmp again "$T/out" || fail "$prompt says something else"
done
[ ! -s "$T/err" ] || fail 'it is not quiet'
expect_exit 0 sten-run run --generate 8 --text "$(printf 'abcde\nabd')" --json
[ "$(value text)" = '"abcde\nabdec\nabcde"' ] || fail "it continues by $(value text)"
[ "$(value prompt)" = '"abcde\nabd"' ] || fail 'the prompt is not in the report'
grep -A1 '"prefill"' "$T/out" | grep -q '"tokens": 9,' || fail 'the prompt is not 9 tokens'
grep -A1 '"decode"' "$T/out" | grep -q '"tokens": 7,' || fail 'not 7 tokens follow one by one'
[ -n "$(value ms_per_token)" ] || fail 'there is no time of a token'
[ "$(value tokens)" = 8 ] || fail "$(value tokens) tokens are generated, not 8"
# All positions, and one token, which needs no other.
expect_exit 0 sten-run run --generate 21 --prompt abc --threads 2 --report page.html
grep -q 'tokens a second' page.html || fail 'the page has no figures'
expect_exit 0 sten-run run --generate 1 --text abc --report one.csv
[ "$(grep -c "^prefill\|^decode" one.csv)" = 1 ] || fail 'one token is more than the prompt'

# Drawn characters depend on the seed alone.
drawn() { sten-run run --generate 18 --text ab --json "$@" >"$T/out" && value text; }
first=$(drawn --temperature 3 --seed 1)
[ "$first" = "$(drawn --temperature 3 --seed 1 --threads 2)" ] || fail 'a seed draws different texts'
[ "$first" != "$(drawn --temperature 3 --seed 2)" ] || fail 'two seeds draw the same'
[ "$(drawn --temperature 1e-300)" = "$(drawn)" ] || fail 'a temperature near 0 takes other tokens'
drawn --temperature 3 --seed 18446744073709551615 >/dev/null
[ "$(value seed)" = '"18446744073709551615"' ] || fail "the seed is reported as $(value seed)"
[ "$(drawn --temperature 3 --top 1)" = "$(drawn)" ] || fail 'the likeliest one is not what is taken'

[ "$(drawn --temperature 3 --min-p 1)" = "$(drawn)" ] || fail 'no other token is as likely as the likeliest'
[ "$(drawn --temperature 3 --top-p 0.01)" = "$(drawn)" ] || fail 'top-p has more tokens than one'
[ "$(drawn --repetition-penalty 0.001)" != "$(drawn)" ] || fail 'the repetition penalty changes nothing'

# It ends before a stop text, across tokens, and at the end tokens of the model.
expect_exit 0 sten-run run --generate 18 --prompt abc --stop nothing --stop "$(printf 'e\nab')"
printf 'abcd\n' | cmp - "$T/out" || fail 'it does not end before the stop text'
ended() { sten-run run --generate 18 --prompt abc --json >"$T/out" && value generated && value finish; }
[ "$(ended | tail -1)" = '"length"' ] || fail 'it does not end at the limit'
echo '{"eos_token_id": 6}' >run/generation_config.json
[ "$(ended)" = "$(printf '"de"\n"end"')" ] || fail 'it does not end at the end token'
echo '{"eos_token_id": [0, 5]}' >run/generation_config.json
[ "$(ended)" = "$(printf '"d"\n"end"')" ] || fail 'it does not end at one of two end tokens'
rm run/generation_config.json
# A stop text that is found only at the end, since U+FFFD may be a part of a character until then.
cp -r run replaced
printf '{"[UNK]": 0, "a": 1, "b": 2, "c": 3, "d": 4, "\\ufffd": 5, "\\n": 6}' >replaced/vocab.json
sten-run replaced --generate 2 --prompt abc --stop "$(printf '\357\277\275')" --json >"$T/out"
[ "$(value generated) $(value finish)" = '"d" "stop"' ] || fail "it ends with $(value generated) and $(value finish)"

# Prompts run in batches, and get the texts that each of them gets alone, in their order.
for prompt in abc a abdec ab abcdea b e "abcde\\nabd"; do
  printf '{"prompt": "%s", "id": 7}\n' "$prompt"
done >prompts.jsonl
for n in 1 3 8; do
  sten-run run --generate 9 --prompts prompts.jsonl --batch $n -q >"batch$n"
  cmp batch1 "batch$n" || fail "a batch of $n says something else"
done
[ "$(sed -n 3p batch8)" = '{"prompt":"abdec","id":7,"generated":"\nabcde\nab","tokens":9,"finish":"length"}' ] ||
  fail "a line is $(sed -n 3p batch8)"
sten-run run --generate 9 --prompts - -q <prompts.jsonl | cmp - batch1 || fail 'a pipe says something else'
sten-run run --generate 9 --prompts prompts.jsonl --temperature 2 -q >drawn1 --batch 1
sten-run run --generate 9 --prompts prompts.jsonl --temperature 2 -q | cmp - drawn1 || fail 'a batch draws other tokens'
expect_exit 0 sten-run run --generate 9 --prompts prompts.jsonl --json
[ "$(grep -c '"generated"' "$T/out")" = 8 ] || fail 'the report does not have 8 prompts'

# A chat has the template of the model, unless it is sent raw.
cp -r run chat
printf '{"[UNK]": 0, "a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "\\n": 6}' >chat/vocab.json
echo '{"chat_template": "{{ \"<\" + messages[0].content }}"}' >chat/tokenizer_config.json
expect_exit 2 sten-run chat --generate 3 --chat '[{"role": "user", "content": "abc"}]'
expect_err "the character '<' has no id"
expect_exit 0 sten-run chat --generate 5 --raw --chat '[{"role": "user", "content": "abc"}]'
printf 'de\nab\n' | cmp - "$T/out" || fail 'the answer is not the output'

# An interrupt ends the texts after a token: what was printed are whole lines.
for _ in $(seq 2000); do cat prompts.jsonl; done >many.jsonl
: >"$T/out" # of the command before, which the loop below would read
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
[ "$(wc -l <"$T/out")" = "$(grep -c '}$' "$T/out")" ] || fail 'a line is not whole'

# Weights in any layout say the same; so do those of a pipe whose recipe says what they are.
same=$(drawn)
for layout in csr nmg:n=1,m=1,g=1 masked; do
  [ "$same" = "$(drawn --layouts "transformer.h.*.c_*.weight=$layout")" ] || fail "$layout says something else"
done
expect_exit 0 sten-run run --generate 10 --text ab --layouts auto --explain
expect_out 'keys and values of earlier tokens are kept'
expect_out 'decode: 9 tokens'
expect_out 'KV caches: '
sten-run run --generate 10 --text ab --json -q >"$T/out"
cache=$(value cache)
sten-run run --generate 10 --text ab --precision bf16 --json -q >"$T/out"
[ "$(value cache)" -lt $((cache * 3 / 4)) ] || fail "caches take $cache bytes, in bfloat16 $(value cache)"
sten-prune run/model.safetensors -o - --sparsity 0.01 -q | sten-run - --config run/recipe.json --generate 18 --text ab \
  --json -q >"$T/out"
[ "$(value text)" = "$same" ] || fail 'weights from a pipe say something else'

# Sparse from its training, it is measured, runs and is stored so.
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

# So does what was pruned as it lies in files of transformers, [in, out].
mkdir hf && cp run/model.safetensors run/config.json run/vocab.json hf
sten-prune hf -o small --structure nmg:n=1,m=2,g=4,axis=1 --to nmg -q
expect_exit 0 sten-run small --generate 8 --text 'abc' --explain
grep -Eq 'linear .*nmg:n=1,m=2,g=4' "$T/out" || fail 'no sparse product'
