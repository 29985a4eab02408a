# SPDX-License-Identifier: Apache-2.0
# sten-bench step: a dense step, and for each layout a step with its mask, a resparsifying step, and
# a step in the layout.
. "$(dirname "$0")/_lib.sh"
cd "$T"

small="--shape 1x32x40 --batch 2 --window 8 --repeats 2"
expect_exit 0 sten-bench step $small --layouts nmg:n=1,m=4,g=2 --layouts csr:sparsity=0.5 --threads 1 --threads 2 --json -o b.json
cmp out b.json || fail '-o FILE.json differs from --json'
[ "$(grep -c '"bench": "step"' out)" = 14 ] ||
  fail 'expected 7 rows for each of 2 numbers of threads'
[ "$(grep -c '"form": "dense"' out)" = 2 ] ||
  fail 'expected 1 row of the dense step for each of 2 numbers of threads'
for form in masked refreshed sparse; do
  [ "$(grep -c "\"form\": \"$form\"" out)" = 4 ] || fail "expected 4 rows of $form"
done
[ "$(grep -c '"ratio": [0-9]' out)" = 14 ] || fail 'a step has no ratio'
expect_exit 0 sten-bench step $small --layouts nmg:n=1,m=4,g=2 --against b.json --max-slowdown 1000000 --refresh 2
expect_out 'compared with b.json'
expect_out ' 1x32x2x8 '

# The configuration of any Hugging Face BERT.
cat >config.json <<'JSON'
{"vocab_size": 50, "hidden_size": 24, "num_hidden_layers": 1, "num_attention_heads": 3, "intermediate_size": 30,
 "max_position_embeddings": 16}
JSON
expect_exit 0 sten-bench step --config config.json --batch 3 --repeats 1 --layouts nm:n=2,m=4
expect_out ' 1x24x3x16 '
expect_exit 2 sten-bench step --config config.json --window 17
expect_err "--window 17 is above max_position_embeddings 16 of the model"
expect_exit 1 sten-bench step --config missing.json
expect_err 'missing.json: No such file or directory'
