# SPDX-License-Identifier: Apache-2.0
# --force replaces only files in --out that the output manifest lists, and never an input of the
# recipe.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_recipe.sh"
mkdir -p "$T/deep/down/here"
cp "$T/digits.csv" "$T/recipe.json" "$T/deep/down/here"
cd "$T/deep/down/here"
RECIPE=recipe.json
short() { train "$1" --set steps=20 --set sparsity=null --set evaluation=null "${@:2}"; }
tree() { (cd "$1" && find . -type f | LC_ALL=C sort | xargs sha256sum); }

# A directory with files that no run wrote is rejected, and the error lists the files.
mkdir -p theirs/checkpoints/step-000010
echo model >theirs/model.safetensors
echo state >theirs/checkpoints/step-000010/state.json
echo '{}' >theirs/recipe.json
echo notes >theirs/notes
tree theirs >before
for mode in "" --force --resume --dry-run "--dry-run --force"; do
  expect_exit 2 short theirs $mode
  expect_one_line_err
  tree theirs | diff - before || fail "'$mode' changed files that the run did not write"
done
expect_exit 2 short theirs --force
expect_err "theirs: contains files that the run did not write: 'checkpoints/step-000010', 'model.safetensors', 'recipe.json'"

# A run can be started and repeated beside files that it does not replace.
mkdir beside
echo notes >beside/notes
expect_exit 0 short beside --force
mkdir beside/more beside/checkpoints/mine
echo more >beside/more/model.safetensors
expect_exit 0 short beside --force --seed 2
[ "$(cat beside/notes beside/more/model.safetensors)" = "notes
more" ] || fail 'files that the run did not write were changed'
[ -d beside/checkpoints/mine ] || fail 'a directory that the run did not create was removed'
[ "$(ls beside/checkpoints | tr '\n' ' ')" = 'mine step-000010 step-000020 ' ] || fail "unexpected checkpoints: $(ls beside/checkpoints)"

# A checkpoint directory can also contain files that the run did not write.
short long --set checkpoints.every=1 --set checkpoints.keep=9 >/dev/null
echo mine >long/checkpoints/step-000018/mine
expect_exit 2 short long --force
expect_err "long: contains files that the run did not write: 'checkpoints/step-000018/mine'"
mv long/checkpoints/step-000018/mine long
expect_exit 0 short long --force
[ "$(ls long/checkpoints | tr '\n' ' ')" = 'step-000010 step-000020 ' ] || fail "unexpected checkpoints: $(ls long/checkpoints)"
[ "$(cat long/mine)" = mine ] || fail 'a file that the run did not write was changed'

# --force also rejects a checkpoint that was replaced, wholly or in part, by one of another run.
short other --seed 3 >/dev/null
for part in . model.safetensors state.json; do
  cp -r long/checkpoints kept-checkpoints
  cp -r other/checkpoints/step-000020/$part long/checkpoints/step-000020
  tree long >before
  expect_exit 2 short long --force
  held 93 expect_err "long: contains files that the run did not write: 'checkpoints/step-000020/"
  tree long | diff - before || fail "--force changed files of another run (replaced part: $part)"
  expect_exit 1 short long --resume
  expect_err 'changed since the file was written'
  rm -r long/checkpoints
  mv kept-checkpoints long/checkpoints
done
expect_exit 0 short long --force

# A file that replaced a file of the run does not belong to the run.
short run >/dev/null
cp run/model.safetensors kept
echo another >run/model.safetensors
for mode in --force --resume; do
  expect_exit 2 short run $mode
  expect_err "run: contains files that the run did not write: 'model.safetensors'"
  [ "$(cat run/model.safetensors)" = another ] ||
    fail "$mode changed a model that the run did not write"
done
cp kept run/model.safetensors
expect_exit 0 short run --force

expect_exit 2 short run --dry-run
expect_err 'run: contains a run ('
expect_exit 0 short run --dry-run --force
expect_exit 0 short new --dry-run
[ ! -e new ] || fail 'the dry run created a directory'

# Inputs that the run would overwrite are detected by any path or link.
expect_exit 2 short run --force --set model.weights=run/model.safetensors
expect_one_line_err
expect_err "run: model.weights "
expect_err "is inside the run's output"
ln -s run alias
expect_exit 2 short alias --force --set model.weights=run/../run/model.safetensors
expect_exit 2 short run --force --set model.weights=run/checkpoints/step-000020/model.safetensors
expect_exit 2 short run --force --set model.weights=run
expect_exit 2 short run --force --set distillation.teacher=run/model.safetensors
expect_one_line_err
expect_err "run: distillation.teacher "
mkdir as-data
cp digits.csv as-data/metrics.jsonl
expect_exit 2 short as-data --force --set data.file=as-data/metrics.jsonl
cmp digits.csv as-data/metrics.jsonl || fail 'the data file was changed'
cmp kept run/model.safetensors || fail 'the weights file was changed'
# A report replaces neither an input of the recipe nor a file of the run.
for mode in "" --dry-run; do
  expect_exit 2 short new --report digits.csv --force $mode
  held 91 expect_err "is the input data.file '"
  expect_exit 2 sten-prune kept -o x --schedule linear:from=0,to=0.5,stages=1 --state S --recipe recipe.json --set sparsity=null \
    --mask-out digits.csv --force $mode
  expect_err "is the input data.file '"
  for name in summary.json run.json checkpoints/report.json; do
    expect_exit 2 short run --report run/$name --force $mode
    expect_err 'where a run keeps its own files'
  done
done
cmp digits.csv "$T/digits.csv" || fail 'the data file was changed'
for out in digits.csv digits.csv/run; do
  expect_exit 1 short $out --dry-run
  expect_err "digits.csv': Not a directory"
done
# Inputs can be elsewhere in the output directory.
cp kept beside/first.safetensors
expect_exit 0 short beside --force --set model.weights=beside/first.safetensors
cmp kept beside/first.safetensors || fail 'the weights file was changed'

# An output manifest (run.json) that was edited is rejected.
sed -i 's/"model.safetensors"/"summary.json"/' run/run.json
tree run >before
for mode in --force --resume; do
  expect_exit 1 short run $mode
  expect_one_line_err
  expect_err 'run/run.json: '
  tree run | diff - before || fail "$mode changed files"
done
