# SPDX-License-Identifier: Apache-2.0
# sten-run: perplexity of a text in windows, and multiple choice by likelihood. The expected values
# come from Hugging Face transformers; tests/interop/make_tiny_gpt.py prints them.
. "$(dirname "$0")/_lib.sh"
cd "$T"
GPT=$STEN_SOURCE/tests/interop/tiny-gpt
value() { sed -nE "s/^ *\"$1\": (.*[^,]),?$/\1/p" "$T/out" | head -1; } # value KEY: from the JSON output
near() { awk "BEGIN { d = $1 - ($2); exit !(d < 1e-4 && d > -1e-4) }" || fail "expected $2, got $1"; }

# perplexity COUNT PERPLEXITY ARGUMENT...
perplexity() {
  expect_exit 0 sten-run "$GPT" --data "$GPT/text.txt" --json "${@:3}"
  [ "$(value count)" = "$1" ] || fail "expected $1 predicted tokens, got $(value count)"
  near "$(value perplexity)" "$2"
}
perplexity 78 48.94988062996564 --window 16
perplexity 83 38.9775874953376 --window 16 --stride 8
perplexity 83 38.9775874953376 --stride 8 --batch 1
perplexity 83 55.05857631403359 --window 12 --stride 5 --batch 3
perplexity 83 27.931772097266947 --stride 1 --threads 2

# A failed check ends with exit code 3.
expect_exit 0 sten-run "$GPT" --data "$GPT/text.txt" --stride 8 --max-perplexity 38.98
expect_out 'perplexity 38.9776'
expect_exit 3 sten-run "$GPT" --data "$GPT/text.txt" --stride 8 --max-perplexity 38.97
expect_err 'the perplexity is 38.9776, above --max-perplexity 38.97'
expect_exit 3 sten-run "$GPT" --data "$GPT/text.txt" --max-perplexity 2
# --against compares two models on the predicted tokens.
expect_exit 0 sten-run "$GPT" --data "$GPT/text.txt" --stride 8 --against "$GPT" --min-agreement 1
expect_out '100.00 % of 83 rows have the same top class'
sten-prune "$GPT" -o pruned --sparsity 0.5 -q
expect_exit 3 sten-run pruned --data "$GPT/text.txt" --stride 8 --against "$GPT" --min-agreement 1

# Questions: each choice has the log-likelihood that transformers computes, at any batch size.
for batch in 1 3 32; do
  expect_exit 0 sten-run "$GPT" --data "$GPT/questions.jsonl" --json --batch $batch
  [ "$(value accuracy) $(value accuracy_norm) $(value count)" = '0.75 0.5 4' ] || fail 'expected accuracy 0.75, accuracy_norm 0.5, count 4'
  sed -nE 's/^ *(-[0-9.]+),?$/\1/p' "$T/out" >likelihoods
  for wanted in -19.66749233007431 -23.146981954574585 -18.32171130180359 -18.871167421340942 -14.518390417098999 \
    -8.118128061294556 -23.297716856002808 -2.839540719985962 -6.3956732749938965 -13.681519567966461 \
    -8.618003368377686; do
    near "$(head -1 likelihoods)" "$wanted"
    sed -i 1d likelihoods
  done
done
expect_exit 0 sten-run "$GPT" --data "$GPT/questions.jsonl" --min-accuracy 75%
expect_out 'accuracy 75.00 %, accuracy_norm 50.00 % of 4 questions'
expect_exit 3 sten-run "$GPT" --data "$GPT/questions.jsonl" --min-accuracy 0.76
expect_err 'the accuracy is 0.75, below --min-accuracy 0.76'
