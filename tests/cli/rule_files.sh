# SPDX-License-Identifier: Apache-2.0
# Rules per tensor: the first matching rule decides, and unused rules are reported.
. "$(dirname "$0")/_lib.sh"

row() { grep "^$1 " "$T/out" || fail "the table lacks the row of $1"; }
L=bert.encoder.layer.0
expect_exit 0 sten-prune "$MODEL" -o "$T/m.safetensors" --sparsity 0.8 --to auto \
  --rule '*query.weight=nm:n=2,m=4' --rule '*key.weight=nmg:n=1,m=4,g=4' --rule '*value.weight=keep' \
  --rule 'bert.encoder.*=magnitude:sparsity=0.5' --rule 'bert.embeddings.word_embeddings.weight=threshold:at=0.01'
row $L.attention.self.query.weight | grep -q 'nm:n=2,m=4 .* 50.00 %' || fail "query is not 2:4"
row $L.attention.self.key.weight | grep -q 'nmg:n=1,m=4,g=4 .* 75.00 %' || fail "key is not 1:4:4"
row $L.intermediate.dense.weight | grep -q 'magnitude:sparsity=0.5 .* 50.00 %' || fail "the rest is not at 50 %"
row cls.predictions.transform.dense.weight | grep -q 'magnitude:sparsity=0.8 .* 80.00 %' || fail "the head is not at 80 %"
row bert.embeddings.word_embeddings.weight | grep -q 'threshold:at=0.01' || fail "the rule of word_embeddings was not applied"
grep -q "^$L.attention.self.value.weight " "$T/out" && fail "value was pruned despite its rule keep"
expect_exit 0 sten-energy "$T/m.safetensors"
row $L.attention.self.query.weight | grep -q ' nm:n=2,m=4 ' || fail "--to auto does not store 2:4 as nm"
row $L.attention.self.key.weight | grep -q ' nmg:n=1,m=4,g=4 ' || fail "--to auto does not store 1:4:4 as nmg"
row $L.intermediate.dense.weight | grep -q ' bitmask ' || fail "--to auto does not store the rest as bitmask"

# A file of rules may have comments, rules on the command line take precedence, and rules without
# --sparsity are enough.
printf '# attention\n\n  *query.weight = nm:n=1,m=4 # x=y \r\n*key.weight=random:fraction=0.3\n' >"$T/rules"
expect_exit 0 sten-prune "$MODEL" --dry-run --rules "$T/rules" --rule '*.0.*query.weight=keep' --summary
expect_out "pruned 7 of 74 tensors"

# [=] stands for '=' in a pattern.
expect_exit 2 sten-prune "$MODEL" --dry-run --rule 'a[=]b=keep' --sparsity 0.5
expect_err "--rule 'a[=]b' matches none of the 74 tensors"

wrong() { # TEXT ARGUMENT...
  text=$1
  shift
  expect_exit 2 sten-prune "$MODEL" --dry-run "$@"
  expect_err "$text"
  expect_one_line_err
}
wrong "expected PATTERN=SPEC" --rule 'nothing'
wrong "expected PATTERN=SPEC" --rule '=keep'
wrong "did you mean 'magnitude'" --rule '*=magnitud:sparsity=0.5'
wrong "must be in [0, 1]" --rule '*=magnitude:sparsity=1.5'
wrong "matches none" --rule 'decoder.*=keep' --sparsity 0.5
wrong "did you mean 'cls.predictions.bias'" --rule 'cls.predictions.bia=keep' --sparsity 0.5
wrong "expected rank 2 or more, got 1" --rule 'cls.predictions.bias=nm:n=2,m=4'
wrong "--include with rules needs" --rule '*=keep' --include 'x'
printf 'a=keep\nb\n' >"$T/rules"
wrong "rules:2: 'b': expected PATTERN" --rules "$T/rules" --sparsity 0.5
printf '# nothing\n' >"$T/rules"
wrong "expected rules, got none" --rules "$T/rules" --sparsity 0.5
yes 'a=keep' | head -n 65537 >"$T/rules" || true
expect_exit 1 sten-prune "$MODEL" --dry-run --rules "$T/rules" --sparsity 0.5
expect_err 'rules: expected at most 65536 rules'
wrong "no argument for repetition" --rule 're:(*=keep' --sparsity 0.5

# A rule that never comes first is reported.
expect_exit 0 sten-prune "$MODEL" --dry-run --sparsity 0.5 --rule '*query*=keep' --rule '*.0.*query.weight=nm:n=2,m=4'
expect_err "--rule '*.0.*query.weight' has no effect"
