# SPDX-License-Identifier: Apache-2.0
# A small Llama model in the format of transformers is run, pruned, evaluated and trained.
. "$(dirname "$0")/_lib.sh"
cd "$T"
cp -r "$STEN_SOURCE/tests/nn/decoders/llama" model
rm model/cases.safetensors
printf '%s' abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ01234567 | fold -w1 |
  awk 'BEGIN { printf "{\"\\n\": 0" } { printf ", \"%s\": %d", $1, NR } END { print "}" }' >model/vocab.json
for i in $(seq 40); do echo abcdefghijklmnopqrstuvwxyz; done >text.txt

expect_exit 0 sten-run model --prompt abcdef --generate 12 -q
[ "$(head -c 6 out)" = abcdef ] || fail "the text does not start with the prompt abcdef: $(cat out)"
cp out wanted
expect_exit 0 sten-run model/model.safetensors --config model/config.json --prompt abcdef --generate 12 -q
cmp out wanted || fail 'the weights with --config give a different text than the directory'
expect_exit 0 sten-run model --prompt abcdef --generate 12 -q --precision bf16
expect_exit 2 sten-run model --prompt abcdef --generate 155
held 159 expect_err '6 tokens and 155 more exceed the 160 positions of model'
expect_one_line_err

# Pruning gives a directory that runs.
expect_exit 0 sten-prune model -o pruned --structure 2:4 --include 'model.layers.*.mlp.*.weight' -q
expect_exit 0 sten-energy pruned/model.safetensors --include 'model.layers.*.mlp.*.weight' --min-sparsity 0.5
expect_exit 0 sten-run pruned --prompt abcdef --generate 12 -q
expect_exit 0 sten-run model --data text.txt --window 32 --stride 16
expect_out 'perplexity'
expect_exit 0 sten-run pruned --data text.txt --window 32 --stride 16 --against model

# Training with masks lowers the perplexity of the text to at most 1.5.
cat >recipe.json <<'EOF'
{"schema": 1, "model": {"kind": "decoder", "config": "model/config.json", "weights": "model"},
 "data": {"kind": "text", "text": "text.txt", "vocabulary": "model/vocab.json", "window": 27, "validation": 0.2},
 "optimizer": {"kind": "adamw", "rate": 0.02}, "steps": 60, "batch": 8,
 "sparsity": [{"target": "model.layers.*.mlp.*.weight", "sparsifier": "nm:n=2,m=4"}]}
EOF
expect_exit 0 sten-train recipe.json --out trained -q
expect_exit 0 sten-energy trained --include 'model.layers.*.mlp.*.weight' --min-sparsity 0.5
expect_exit 0 sten-run trained --data text.txt --window 27 --max-perplexity 1.5
expect_exit 0 sten-run trained --prompt abcdef --generate 6 -q
[ "$(head -1 out)" = abcdefghijkl ] || fail "expected the text abcdefghijkl, got $(cat out)"

# Training widens bfloat16 weights, and config.json says so.
expect_exit 0 sten-convert model -o low --type bf16 -q
grep -q '"dtype": "bfloat16"' low/config.json || fail 'config.json does not say bfloat16'
expect_exit 0 sten-train recipe.json --out trained-low -q --set model.config=low --set model.weights=low --set steps=1
grep -q '"dtype": "float32"' trained-low/config.json || fail 'config.json does not say float32'

# The experts of a mixture-of-experts model are pruned, run and trained like other weights.
cp -r "$STEN_SOURCE/tests/nn/decoders/qwen2_moe" experts
cp model/vocab.json experts
rm experts/cases.safetensors
expect_exit 0 sten-run experts --prompt abcdef --generate 12 -q
cp out wanted
expect_exit 0 sten-run experts --prompt abcdef --generate 12 -q --precision bf16
expect_exit 0 sten-prune experts -o experts24 --structure 2:4:2 --include '*.experts.*.weight' -q
expect_exit 0 sten-run experts24 --prompt abcdef --generate 12 -q
if cmp -s out wanted; then fail 'pruned experts give the same text'; fi
expect_exit 0 sten-run experts24 --data text.txt --window 32 --stride 16 --against experts
sed 's,model/,experts/,g; s,"weights": "model","weights": "experts",; s,mlp[.]\*[.]weight,mlp.experts.*.weight,' \
  recipe.json >experts.json
expect_exit 0 sten-train experts.json --out trained-experts -q
expect_exit 0 sten-energy trained-experts --include '*.experts.*.weight' --min-sparsity 0.5
expect_exit 0 sten-run trained-experts --data text.txt --window 27 --max-perplexity 1.5
