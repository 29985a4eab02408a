# SPDX-License-Identifier: Apache-2.0
# A failed check ends the program with exit code 3, and no output is written.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_safetensors.sh"

mkdir "$T/work"
cd "$T/work"
# Pruning 1 2 / 3 4 to half of its weights keeps 0.7 of the magnitude.
safetensors in.safetensors "{$(entry a.weight F32 2,2 0 16),$(entry b.weight F32 1,2 16 24)}" \
  "$F1$F2$F3$F4$F1$F3"

# failed TEXT COMMAND...
failed() {
  expect_exit 3 "${@:2}"
  expect_one_line_err
  expect_err "$1"
  [ ! -e o.safetensors ] || fail "'${*:2}' left an output"
  # Reports are still written, and state the reason of the failure.
  case " $* " in *" --report "*)
    [ -e report.json ] || fail "'${*:2}' wrote no report"
    grep -qF '"ok": false' report.json || fail "the report of '${*:2}' does not say that it failed"
    grep '"reason": ' report.json | grep -qF -e "$1" ||
      fail "the report of '${*:2}' does not state the reason"
    rm report.json
    ;;
  esac
}

# A magnitude of 10 of 14 is kept: the energy is 0.714286.
failed 'energy 0.714286 is below --min-energy 0.72 (nothing was written)' \
  sten-prune in.safetensors -o o.safetensors --sparsity 0.5 --min-energy 0.72 --report report.json
expect_out 'total'
failed 'energy 0.714286 is below --min-energy 0.72' \
  sten-prune in.safetensors --dry-run --sparsity 0.5 --min-energy 0.72
expect_exit 0 sten-prune in.safetensors -o o.safetensors --sparsity 0.5 --min-energy 0.71 \
  --report report.json
grep -qF '"ok": true' report.json || fail 'the report of a passed check lacks "ok": true'
mv o.safetensors pruned.safetensors
rm report.json
# An existing output stays unchanged.
echo old >old.safetensors
expect_exit 3 sten-prune in.safetensors -o old.safetensors --force --sparsity 0.5 --min-energy 1
[ "$(cat old.safetensors)" = old ] || fail 'a failed check replaced the output'
status=0
sten-prune in.safetensors -o - --sparsity 0.5 --min-energy 1 >"$T/out" 2>"$T/err" || status=$?
[ $status = 3 ] && [ ! -s "$T/out" ] || fail 'a failed check wrote to standard output'
expect_exit 0 sten-prune in.safetensors -o o.safetensors --sparsity 0 --min-energy 1
rm o.safetensors

failed 'energy 0.714286 is below --min-energy 0.72' \
  sten-energy pruned.safetensors --against in.safetensors --min-energy 0.72 --report report.json
expect_exit 0 sten-energy pruned.safetensors --against in.safetensors --min-energy 0.71
# --min-energy applies to the total: a.weight keeps 0.7, b.weight 0.75.
expect_exit 0 sten-energy pruned.safetensors --against in.safetensors --min-energy 0.75 \
  --include b.weight
expect_exit 3 sten-energy pruned.safetensors --against in.safetensors --min-energy 0.75

# A tensor that is missing or has a different shape in the original cannot be compared.
safetensors other.safetensors "{$(entry a.weight F32 2,2 0 16)}" "$F1$F2$F3$F4"
expect_exit 1 sten-energy pruned.safetensors --against other.safetensors
expect_one_line_err
expect_err "other.safetensors: tensor 'b.weight' not found"
safetensors other.safetensors "{$(entry a.weight F32 1,4 0 16),$(entry b.weight F32 2 16 24)}" \
  "$F1$F2$F3$F4$F1$F3"
expect_exit 1 sten-energy pruned.safetensors --against other.safetensors
expect_one_line_err
expect_err "other.safetensors: 'a.weight' has shape [1, 4], but in pruned.safetensors shape [2, 2]"

expect_exit 3 sten-energy pruned.safetensors --min-sparsity 0.9 --json --report report.md --report report.html \
  --report report.csv
expect_out '"ok": false'
expect_out '"reason": "sparsity 0.5'
expect_out '"total": {'
for report in md html; do
  grep -qi 'failed:.*is below --min-sparsity 0.9' report.$report ||
    fail "report.$report does not state the reason"
done
grep -q '^a.weight' report.csv || fail 'report.csv has no rows'
rm report.*
# With --out-dir the JSON report counts the failed checks.
expect_exit 3 sten-prune in.safetensors --out-dir out --dry-run --sparsity 0.5 --min-energy 1 --json
expect_out '"ok": false'
expect_out '"reason": "1 check failed"'

# --lossless names a nonzero that the layout would drop.
failed "in.safetensors: 'a.weight': nm:n=1,m=2 would drop the nonzero at [0, 0]" \
  sten-convert in.safetensors -o o.safetensors --to nm:n=1,m=2 --lossless
failed "in.safetensors: 'b.weight': nm:n=1,m=2 would drop the nonzero at [0, 0]" \
  sten-convert in.safetensors --dry-run --to nm:n=1,m=2 --lossless --include b.weight
failed "would drop the nonzero at [" \
  sten-convert in.safetensors -o o.safetensors --to nmg:n=1,m=2,g=1 --lossless --report report.json
for to in dense masked bitmask csr nm:n=2,m=2 nmg:n=2,m=2,g=1; do
  expect_exit 0 sten-convert in.safetensors -o o.safetensors --to $to --lossless
  rm o.safetensors
done
sten-prune in.safetensors -o two.safetensors --structure nm:n=1,m=2 -q >/dev/null
expect_exit 0 sten-convert two.safetensors -o o.safetensors --to nm:n=1,m=2 --lossless
rm o.safetensors
failed "'a.weight': nm:n=1,m=2,axis=0 would drop the nonzero at [0, 1]" \
  sten-convert two.safetensors -o o.safetensors --to nm:n=1,m=2,axis=0 --lossless
rm two.safetensors other.safetensors old.safetensors pruned.safetensors
[ "$(ls -A)" = in.safetensors ] || fail "expected only in.safetensors, got: $(ls -A)"
