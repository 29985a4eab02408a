# SPDX-License-Identifier: Apache-2.0
# --include and --exclude select exactly the named tensors, or report why not.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_safetensors.sh"

cd "$T"
ln -s "$MODEL" in.safetensors
layer0=bert.encoder.layer.0

# chosen NAMES PATTERN...: checks that the patterns select NAMES, in this order.
chosen() {
  expect_exit 0 sten-prune in.safetensors --dry-run --sparsity 0.5 -v "${@:2}"
  printf '%s\n' $1 >wanted
  sed -n 's/^sten-prune: selected //p' err >got
  cmp -s wanted got || fail "'${*:2}' chose $(tr '\n' ' ' <got), not $(tr '\n' ' ' <wanted)"
}
# refused TEXT PATTERN...: checks that the patterns are rejected with an error that has TEXT.
refused() {
  expect_exit 2 sten-prune in.safetensors -o o.safetensors --sparsity 0.5 "${@:2}"
  expect_one_line_err
  expect_err "$1"
  [ ! -e o.safetensors ] || fail "'${*:2}' left an output"
}

# Names and globs match the whole name; regular expressions match any part of it.
chosen "$layer0.intermediate.dense.weight" --include $layer0.intermediate.dense.weight
chosen "$layer0.output.dense.weight
  bert.encoder.layer.1.output.dense.weight" --include 'bert.encoder.layer.[01].output.dense.weight'
chosen "$layer0.attention.output.dense.weight $layer0.output.dense.weight" \
  --include "$layer0*output.dense.weight"
chosen "$layer0.output.dense.weight bert.encoder.layer.3.output.dense.weight" \
  --include 're:bert\.encoder\.layer\.[03]\.output\.dense\.weight'
chosen "$layer0.output.dense.weight" --include 're:^b.*\.0\.output\.dense\.w'
chosen 'cls.predictions.transform.dense.weight' --include 'c*weight'
# Lists of patterns.
chosen "$layer0.intermediate.dense.weight $layer0.output.dense.weight
  cls.predictions.transform.dense.weight" --include "$layer0.{intermediate,output}.dense.weight,cls*weight"
chosen "$layer0.output.dense.weight" --include "$layer0.*" --exclude '*attention*,*intermediate*'
refused "--include 'gpt' matches none" --include "$layer0.*,gpt"
refused "'a.{b,c': '{' without '}' (write [{] for the character)" --include 'a.{b,c'
refused "'a,,b': empty pattern" --include 'a,,b'
chosen 'cls.predictions.transform.dense.weight' --exclude 'bert.*'
# --include replaces the default rule on names; --exclude overrides --include.
chosen 'bert.embeddings.position_embeddings.weight bert.embeddings.word_embeddings.weight' \
  --include '*embeddings*' --exclude '*token_type*'
chosen "$layer0.output.dense.weight" --exclude '*attention*' --exclude '*intermediate*' \
  --include "$layer0.*"
# Without --include the default decides: no embeddings, no norms, no biases.
expect_exit 0 sten-prune in.safetensors --dry-run --sparsity 0.5
expect_out 'pruned 25 of 74 tensors'
grep -q 'embeddings\.\|LayerNorm\|bias' out && fail 'an embedding, norm or bias was pruned'

# A tensor that cannot be pruned is skipped and counted if a glob matches it, and rejected if it is
# named.
expect_exit 0 sten-prune in.safetensors --dry-run --sparsity 0.5 --include "$layer0.*"
expect_out 'pruned 6 of 74 tensors; 10 matched by --include cannot be pruned'
expect_exit 0 sten-prune in.safetensors --dry-run --sparsity 0.5 --include "$layer0.*" --json
expect_out '"selected": 6,'
expect_out '"skipped": 10,'
expect_exit 0 sten-convert in.safetensors --dry-run --to csr --include "$layer0.output.*"
expect_out '3 matched by --include are of rank below 2'
expect_exit 0 sten-energy in.safetensors --include "$layer0.output.*"
expect_out '3 matched by --include are of rank below 2'
expect_exit 0 sten-prune in.safetensors --dry-run --sparsity 0.5 --include "$layer0.*" --exclude \
  '*bias'
expect_out '2 matched by --include cannot be pruned'
refused "--include '$layer0.output.dense.bias': expected rank 2 or more, got 1" --include $layer0.output.dense.bias
refused "--include '*bias' matches only unsupported tensors: expected rank 2 or more, got 1" --include '*bias'
for command in 'sten-convert --to csr --dry-run' sten-energy; do
  expect_exit 2 $command in.safetensors --include $layer0.output.dense.bias
  expect_err 'expected rank 2 or more, got 1'
done

# A pattern that matches nothing is an error, and the nearest name is suggested.
refused "'$layer0.output.dense.wieght' matches none of the 74 tensors of in.safetensors, did you mean \
'$layer0.output.dense.weight'?" --include $layer0.output.dense.wieght
refused "--exclude '$layer0.output.dense.weights' matches none of the 74 tensors" \
  --exclude $layer0.output.dense.weights
held 59 refused "--include 'gpt.*' matches none" --include 'gpt.*'
refused "--exclude 'gpt.*' matches none" --exclude 'gpt.*'
refused "--exclude 'gpt.*' matches none" --include '*' --exclude '*bias' --exclude 'gpt.*'
refused "--include 're:layer\$' matches none" --include 're:layer$'
refused "'': empty pattern" --include ''
refused "near are $layer0.output.dense.bias, " --include "$layer0.out.dense.*"
refused 'none of the 74 tensors' --exclude '*'

# Invalid regular expressions, and expressions that take a backtracking matcher forever.
refused "'re:(': missing )" --include 're:('
refused "'re:[a': missing ]" --include 're:[a'
refused "'re:*': " --exclude 're:*'
refused 'invalid repetition size' --include 're:((a{100}){100}){100}'
SECONDS=0
refused "'re:^(a*)*\$' matches none" --include 're:^(a*)*$'
refused "'re:([a-z.]*)*([a-z.]*)*X' matches none" --include 're:([a-z.]*)*([a-z.]*)*X'
held 60 refused "matches none" --include "$(repeat 200 '*e')X"
[ $SECONDS -lt 10 ] || fail "hostile patterns took $SECONDS s"

# Globs that the command-line parser could take for a list; dtypes that have no magnitude.
rm in.safetensors
data="$F1$F2$F3$F4"
safetensors in.safetensors "{$(entry 0 F32 1,1 0 4),$(entry 1x3 F32 1,1 4 8),
  $(entry x I32 1,1 8 12),$(entry y F4 2,4 12 16)}" "$data"
chosen '0' --include '[0-9]'
chosen '1x3' --include '[0-9]*[0-9]'
chosen '0 1x3' --include '*'
refused "--include 'x': I32 elements cannot be pruned" --include x
expect_exit 0 sten-energy in.safetensors --include x
expect_exit 2 sten-energy in.safetensors --include y
expect_err "F4 elements are smaller than one byte"
