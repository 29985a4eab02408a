# The commands of docs/training.md work, one after the other.
. "$(dirname "$0")/_lib.sh"

mkdir "$T/here"
cd "$T/here"
ln -s "$STEN_SOURCE/recipes" recipes
sed -n '/^```sh$/,/^```$/{//!p}' "$STEN_SOURCE/docs/training.md" >"$T/commands"
[ "$(wc -l <"$T/commands")" -ge 8 ] || fail 'docs/training.md has few commands'
while read -r command; do
  expect_exit 0 bash -c "$command" </dev/null
done <"$T/commands"
for file in recipe.json metrics.jsonl model.safetensors summary.json curve.svg; do
  [ -s "digits/$file" ] || fail "the first run has no $file"
done
# The page's own recipe, the first one.
sed -n '/^```json$/,/^```$/p' "$STEN_SOURCE/docs/training.md" | sed '1d;/^```$/,$d' | sed 's|"data/|"recipes/data/|' >recipe.json
expect_exit 0 sten-train recipe.json --dry-run
