# SPDX-License-Identifier: Apache-2.0
# -q prints only errors and the output of --json and --report. Dry runs say that nothing was
# written.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_safetensors.sh"
. "$(dirname "$0")/_recipe.sh"
cd "$T"
safetensors in.safetensors "{$(entry a.weight F32 2,2 0 16)}" "$F1$F2$F3$F4"
safetensors in2.safetensors "{$(entry a.weight F32 2,2 0 16)}" "$F4$F2$F3$F1"

silent() { # silent CODE COMMAND...
  expect_exit "$@"
  [ ! -s out ] || fail "'${*:2}' prints to standard output"
  [ "$1" != 0 ] || [ ! -s err ] || fail "'${*:2}' prints to standard error"
}
silent 0 sten-prune in.safetensors -o pruned.safetensors --sparsity 0.5 -q
silent 0 sten-prune in.safetensors --dry-run --sparsity 0.5 --quiet
silent 0 sten-prune in.safetensors in2.safetensors --out-dir many --sparsity 0.5 -q
silent 0 sten-convert pruned.safetensors -o small.safetensors --to bitmask -q
silent 0 sten-energy pruned.safetensors --against in.safetensors --min-energy 0.5 -q
silent 0 sten-energy in.safetensors --sweep -q
silent 0 sten-bench convert --shape 8x8 --layouts csr:sparsity=0.5 --repeats 1 -q -o bench.json
silent 0 sten-train "$RECIPE" --out run --set steps=1 --set sparsity=null --set rate=null -q
silent 0 sten-train "$RECIPE" --dry-run -q
silent 0 sten-prune in.safetensors -o staged.safetensors --schedule linear:from=0,to=0.5,stages=2 --state S \
  --finetune 'cp {in} {out}' -q
# With -o -, standard output has only the result, and standard error is empty.
expect_exit 0 sten-prune in.safetensors -o - --sparsity 0.5 -q
cmp out pruned.safetensors || fail '-o - -q writes a different checkpoint than -o FILE -q'
[ ! -s err ] || fail '-o - -q prints to standard error'
# Errors and failed checks are still reported, in one line.
silent 3 sten-energy pruned.safetensors --against in.safetensors --min-energy 0.99 -q
expect_one_line_err
silent 1 sten-energy missing.safetensors -q
expect_one_line_err

# -q does not suppress JSON documents and reports, since they were requested.
expect_exit 0 sten-energy pruned.safetensors --json
cp out wanted
expect_exit 0 sten-energy pruned.safetensors --json -q --report energy.json
cmp out wanted || fail '-q changes the JSON document'
cmp energy.json wanted || fail '-q changes the report'
[ -s bench.json ] || fail 'sten-bench -q did not write its report'
expect_exit 2 sten-energy pruned.safetensors -q -v
expect_err '--quiet and --verbose exclude each other'

# A dry run says so on the screen; its reports do not mention it.
expect_exit 0 sten-prune in.safetensors --dry-run --sparsity 0.5 --report dry.json
[ "$(tail -n 1 out)" = 'dry run: nothing but reports was written' ] || fail 'a dry run with a report does not say that only reports were written'
grep -q 'dry run' dry.json && fail 'the report mentions the dry run'
for run in 'sten-prune in.safetensors --sparsity 0.5' 'sten-convert in.safetensors --to csr' \
  'sten-prune in.safetensors in2.safetensors --sparsity 0.5 --out-dir none' "sten-train $RECIPE"; do
  expect_exit 0 $run --dry-run
  [ "$(tail -n 1 out)" = 'dry run: nothing was written' ] || fail "'$run --dry-run' does not say so"
done
[ ! -e none ] || fail 'a dry run created a directory'
