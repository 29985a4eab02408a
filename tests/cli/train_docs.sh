# SPDX-License-Identifier: Apache-2.0
# The commands of docs/training.md work in order.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_docs.sh"

run_commands docs/training.md 8
for file in recipe.json metrics.jsonl model.safetensors summary.json curve.svg; do
  [ -s "digits/$file" ] || fail "the first run has no $file"
done
# The recipes of the page are the JSON blocks with a schema key. The second one needs a model.onnx
# of the reader.
sed -n '/^```json$/,/^```$/p' "$STEN_SOURCE/docs/training.md" | sed 's|"data/|"recipes/data/|' |
  awk '/^```json$/ { n++; next } !/^```$/ { print >("block" n ".json") }'
grep -l '"schema": 1' block*.json | sort -V | awk '{ print "mv", $1, "recipe" NR ".json" }' | sh
expect_exit 0 sten-train recipe1.json --dry-run
expect_exit 1 sten-train recipe2.json --dry-run
expect_err 'model.onnx: No such file or directory'
