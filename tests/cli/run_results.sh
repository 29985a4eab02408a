# SPDX-License-Identifier: Apache-2.0
# The results of a training run beside a model are not copied with changed weights.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_recipe.sh"
cd "$T"
train run --set steps=20 --set sparsity=null --set rate=null >/dev/null
echo mine >run/notes.txt
files() { (cd "$1" && find . -type f ! -name '.*' | sed 's|^./||' | LC_ALL=C sort | tr '\n' ' '); }
left='left behind, results of training the weights of before: checkpoints/, curve.svg, metrics.jsonl, run.json, summary.json'
for command in 'sten-prune --sparsity 0.5' 'sten-prune --sparsity 0.5 --keep-other-weights' 'sten-convert --to dense'; do
  rm -rf copied
  expect_exit 0 $command run -o copied --include 'layers.*.weight'
  expect_out "$left"
  [ "$(files copied)" = 'model.safetensors notes.txt recipe.json ' ] || fail "$command: expected model.safetensors, notes.txt and recipe.json, got $(files copied)"
  expect_exit 0 sten-run copied
done
expect_exit 0 sten-prune run --sparsity 0.5 --include 'layers.*.weight' --dry-run
expect_out "$left"

# Files with these names are copied if no training run wrote them.
mkdir own
cp run/model.safetensors run/metrics.jsonl run/summary.json own
echo '{"program": "another"}' >own/run.json
rm -rf copied
expect_exit 0 sten-convert own -o copied --to dense --include 'layers.*.weight'
[ "$(files copied)" = 'metrics.jsonl model.safetensors run.json summary.json ' ] || fail "expected all files of the input, got $(files copied)"
