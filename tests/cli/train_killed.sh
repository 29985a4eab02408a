# SPDX-License-Identifier: Apache-2.0
# After kill -9 at any moment of a training run, --resume gives the bytes of an uninterrupted run.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_recipe.sh"
. "$(dirname "$0")/_kill.sh"
cd "$T"
: "${STEN_CRASHES:=5}"
files() { (cd "$1" && find . -name '*.safetensors' | LC_ALL=C sort | xargs sha256sum); }

at_work() { [ -e run/recipe.json ] && [ ! -e run/summary.json ]; }
for THREADS in 1 2; do
  rm -rf run
  train run >/dev/null # warms the file cache
  rm -rf run
  watch train run
  files run >wanted
  for i in $(seq "$STEN_CRASHES"); do
    rm -rf run
    kill_at $i "$STEN_CRASHES" sten-train "$RECIPE" --out run -q --threads $THREADS
    last=$(ls run/checkpoints 2>/dev/null | tail -1)
    train run --resume >/dev/null
    files run | diff - wanted >&2 || fail "the run resumed after ${last:-no checkpoint} differs from the uninterrupted run ($THREADS threads)"
    [ -z "$(ls -A run/checkpoints | grep -v '^step-......$')" ] || fail "left behind: $(ls -A run/checkpoints)"
    echo "killed after ${last:-no checkpoint}: the same bytes at $THREADS threads"
  done
done

# The same while a run replaces an old run, beside files that the run did not write.
train old --set checkpoints.keep=9 >/dev/null
mkdir old/theirs old/checkpoints/theirs
echo notes >old/theirs/notes
echo notes >old/checkpoints/theirs/notes
at_work() { ! cmp -s old/summary.json run/summary.json; }
rm -rf run
cp -r old run
watch train run --force --seed 3
files run >wanted
for i in $(seq "$STEN_CRASHES"); do
  rm -rf run
  cp -r old run
  kill_at $i "$STEN_CRASHES" sten-train "$RECIPE" --out run -q --threads $THREADS --force --seed 3
  if [ $((i % 2)) = 0 ] || ! train run --resume --seed 3 >/dev/null 2>&1; then train run --force --seed 3 >/dev/null; fi
  files run | diff - wanted >&2 || fail 'the run that follows a killed run with --force differs from the uninterrupted run'
  [ "$(cat run/theirs/notes run/checkpoints/theirs/notes)" = "notes
notes" ] || fail 'files that the run did not write were changed'
done
enough_kills
