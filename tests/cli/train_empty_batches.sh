# SPDX-License-Identifier: Apache-2.0
# A step whose batch has no predictions has no loss and no norm in metrics.jsonl.
. "$(dirname "$0")/_lib.sh"
cd "$T"
mkdir bert
cp "$STEN_SOURCE/recipes/models/shakespeare-bert/vocab.json" bert
head -c 20000 "$STEN_SOURCE/recipes/data/tinyshakespeare.txt" >text
cat >bert/config.json <<'EOT'
{"vocab_size": 70, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 8,
 "max_position_embeddings": 8}
EOT
cat >bert.json <<'EOT'
{"schema": 1, "model": {"kind": "bert", "config": "bert/config.json"},
 "data": {"kind": "masked-text", "text": "text", "vocabulary": "bert/vocab.json", "window": 8, "predicted": 0.05},
 "steps": 20, "batch": 1, "clip": 1, "logging": {"every": 1}}
EOT
expect_exit 0 sten-train bert.json --out run -q
grep -v split run/metrics.jsonl >steps
[ "$(wc -l <steps)" = 20 ] || fail "expected 20 lines of metrics, got: $(cat steps)"
grep -qE '"loss":4\.[0-9]+,.*"norm":[0-9.]+' steps || fail 'no batch has predictions'
grep -qE '^\{"step":[0-9]+,"rate":[0-9.e-]+,"sparsity":0.0' steps || fail 'expected a batch without predictions, but every batch has a loss and a norm'
if grep -qE '"(loss|norm)":0\.0,' steps; then fail "a step without predictions has a loss or norm of 0: $(cat steps)"; fi
grep -qF '<svg' run/curve.svg || fail 'curve.svg is not SVG'
