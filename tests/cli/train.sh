# SPDX-License-Identifier: Apache-2.0
# sten-train from the recipe to the model: files and messages.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_recipe.sh"
cd "$T"

QUIET='' expect_exit 0 train run
expect_out 'layers.0.weight'
expect_out '80.01 %'
expect_out 'validation: loss '
expect_out 'wrote run/model.sten.safetensors'
[ "$(ls run | tr '\n' ' ')" = 'checkpoints curve.svg metrics.jsonl model.sten.safetensors recipe.json run.json summary.json ' ] ||
  fail "unexpected files in the output directory: $(ls run)"
[ "$(ls run/checkpoints | tr '\n' ' ')" = 'step-000140 step-000150 step-000160 ' ] ||
  fail "unexpected checkpoints: $(ls run/checkpoints)"
grep -qF '"accuracy"' run/summary.json || fail 'the summary has no accuracy'
grep -qF '<svg' run/curve.svg || fail 'the curve is not SVG'
# The HTML report has the curve too, beside the charts of the weights.
expect_exit 0 train page --report page.html
[ "$(grep -c '<figure' page.html)" = 3 ] || fail 'expected three charts in the page: the curve and two bar charts'
grep -q 'Loss by step' page.html || fail 'the page lacks the curve of the loss'
grep -qE '<path d="M[^"L]*H[0-9.]+V' page/curve.svg || fail 'the stages of sparsity are not drawn as steps'
# 32 logged steps and 4 evaluations, the last one at the final sparsity.
[ "$(wc -l <run/metrics.jsonl)" = 36 ] ||
  fail "metrics.jsonl: expected 36 lines, got $(wc -l <run/metrics.jsonl)"
tail -1 run/metrics.jsonl | grep -qF '"split":"validation"' || fail 'the last line is not an evaluation'
tail -2 run/metrics.jsonl | head -1 | grep -qE '^\{"step":160,"loss":[0-9.]+,"rate":[0-9.e-]+,"norm":[0-9.]+,"sparsity":0.8' ||
  fail "a line of metrics.jsonl has the wrong format: $(tail -2 run/metrics.jsonl)"
# Training with the resolved recipe gives the same model.
mkdir again && cp run/recipe.json again.json
expect_exit 0 sten-train again.json --out again -q --threads 1
cmp run/model.sten.safetensors again/model.sten.safetensors || fail 'the resolved recipe gives a different model'

# The model has the sparsity of the recipe, and a test accuracy of at least 80 %.
expect_exit 0 sten-energy run/model.sten.safetensors --json --include 'layers.[01].weight' --min-sparsity 0.7999
expect_exit 0 train json --json
grep -A8 '"test"' out | grep -qE '"accuracy": 0\.[89]' || fail 'the test accuracy is below 80 %'
expect_out '"schema": 1'

# A recipe without sparsity gives a dense model.
QUIET='' expect_exit 0 train dense --set sparsity=null --set steps=20
expect_out 'wrote dense/model.safetensors'

# The key scale multiplies all steps: warm-up, points of the rate, stages, refreshes, evaluations.
rate() { echo "rate={\"kind\": \"piecewise\", \"warmup\": $1, \"points\": [[$2, 0.5], [$3, 0.1]]}"; }
expect_exit 0 train scaled --set scale=0.5 --set "$(rate 10 40 100)" --set sparsity.0.mask.refresh=8
expect_exit 0 train counted --set steps=80 --set "$(rate 5 20 50)" --set sparsity.0.mask.refresh=4 \
  --set sparsity.0.schedule.end=40 --set evaluation.every=20 --set checkpoints.every=5 --set logging.every=3
for file in recipe.json model.sten.safetensors; do
  cmp scaled/$file counted/$file ||
    fail "$file differs between the scaled run and the run with scaled steps"
done
for how in --dry-run '--out unfit'; do
  expect_exit 2 sten-train "$RECIPE" $how --set steps=8
  expect_one_line_err
  expect_err "/rate/warmup: 10 steps are more than the 8 steps of the run; /sparsity/0/schedule/end: step 80 is after the last of 8 steps \
(the key scale multiplies all steps)"
  [ ! -e unfit ] || fail 'the rejected run left a directory'
done

# The progress bar shows loss, sparsity, rate and remaining time.
expect_exit 0 sten-train "$RECIPE" --out bar --threads 1 --progress always
grep -qE 'step [0-9]+/160  loss [0-9.]+  sparsity 80.0 %  rate [0-9.e-]+  .* s left' err || fail 'the progress bar is missing'

# A directory that contains a run is used only with --resume or --force.
expect_exit 2 train run
expect_one_line_err
expect_err 'run: contains a run (--resume continues the run, --force replaces the run)'
expect_exit 2 train run --resume --set optimizer.rate=0.002
expect_one_line_err
expect_err 'run: contains a run of a different recipe: /optimizer/rate was 0.004, now is 0.002 (--force replaces the run)'
cp run/model.sten.safetensors wanted
cp digits.csv data.csv
sed -i '2s/,0,/,1,/' digits.csv
expect_exit 2 train run --resume
expect_one_line_err
expect_err 'run: contains a different run: the data changed; --force replaces the run'
mv data.csv digits.csv
expect_exit 0 train run --resume
cmp run/model.sten.safetensors wanted || fail 'resuming a finished run changes the model'
expect_exit 0 train run --force
cmp run/model.sten.safetensors wanted || fail 'repeating the run gives a different model'
# --resume also rejects a teacher whose weights changed after the run.
teach() { train taught --set steps=20 --set sparsity=null --set distillation.teacher=teacher.safetensors "$@"; }
cp dense/model.safetensors teacher.safetensors
expect_exit 0 teach
rm -r taught/checkpoints/step-000020
train dense2 --set sparsity=null --set steps=20 --seed 2 >/dev/null
cp dense2/model.safetensors teacher.safetensors
expect_exit 2 teach --resume
expect_one_line_err
expect_err 'taught: contains a different run: the weights of the teacher changed; --force replaces the run'
cp dense/model.safetensors teacher.safetensors
expect_exit 0 teach --resume

# An empty validation split gives a warning if the recipe asks for evaluations.
none=(--set data.train=0.8 --set data.validation=0 --set evaluation.keep_best=false --set sparsity=null --set steps=20)
QUIET='' expect_exit 0 train unmeasured "${none[@]}"
expect_err 'warning: /evaluation/every: the validation split is empty'
expect_exit 0 sten-train "$RECIPE" --dry-run "${none[@]}"
expect_err 'warning: /evaluation/every: the validation split is empty'
QUIET='' expect_exit 0 train unasked "${none[@]}" --set evaluation.every=0
grep -q warning err && fail 'a warning about evaluations although none are requested'

mkdir other && touch other/notes
expect_exit 2 train other
expect_err 'other: contains other files and no run (--force adds a run beside the files)'
expect_exit 2 sten-train "$RECIPE"
expect_err '--out: missing'

# Resuming replaces lines of metrics after the last checkpoint.
echo '{"step":170,"loss":1}' >>run/metrics.jsonl
printf '{"step":1' >>run/metrics.jsonl
expect_exit 0 train run --resume
[ "$(wc -l <run/metrics.jsonl)" = 36 ] ||
  fail 'metrics.jsonl: old lines after the last checkpoint were kept'

# A checkpoint whose removal was interrupted is not used, and is removed.
rm run/checkpoints/step-000150/state.json
expect_exit 0 train run --resume
[ ! -e run/checkpoints/step-000150 ] || fail 'an incomplete checkpoint was left'

# --seed sets the seed of the recipe, and changes the model.
expect_exit 0 train seeded --seed 1
grep -qF '"seed": 1' seeded/recipe.json || fail '--seed does not reach the recipe'
cmp -s seeded/model.sten.safetensors wanted && fail 'a different seed gives the same model'
true
