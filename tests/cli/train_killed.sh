# kill -9 at any moment of a training run, then --resume: the bytes of the run that was left alone.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_recipe.sh"
cd "$T"
: "${STEN_CRASHES:=5}"
files() { (cd "$1" && find . -name '*.safetensors' | LC_ALL=C sort | xargs sha256sum); }

for THREADS in 1 2; do
  rm -rf whole
  train whole >/dev/null # its files are in the cache now
  rm -rf whole
  start=$(date +%s%N)
  train whole >/dev/null
  took=$((($(date +%s%N) - start) / 1000))
  files whole >wanted
  for i in $(seq "$STEN_CRASHES"); do
    rm -rf run
    (exec sten-train "$RECIPE" --out run -q --threads $THREADS) >/dev/null 2>&1 &
    # Spread evenly over the run.
    sleep "$(printf '0.%06d' $((took * (2 * i - 1) / (2 * STEN_CRASHES) % 1000000)))"
    kill -9 $! 2>/dev/null || true
    wait $! 2>/dev/null || true
    last=$(ls run/checkpoints 2>/dev/null | tail -1)
    train run --resume >/dev/null
    files run | diff - wanted >&2 || fail "killed after ${last:-no checkpoint}, a resumed run gives other bytes at $THREADS threads"
    [ -z "$(ls -A run/checkpoints | grep -v '^step-......$')" ] || fail "left behind: $(ls -A run/checkpoints)"
    echo "killed after ${last:-no checkpoint}: the same bytes at $THREADS threads"
  done
done

# The same while a run is begun anew over an old one, beside files of others.
train old --set checkpoints.keep=9 >/dev/null
mkdir old/theirs old/checkpoints/theirs
echo notes >old/theirs/notes
echo notes >old/checkpoints/theirs/notes
train whole --force --seed 3 >/dev/null
files whole >wanted
for i in $(seq "$STEN_CRASHES"); do
  rm -rf run
  cp -r old run
  (exec sten-train "$RECIPE" --out run -q --threads $THREADS --force --seed 3) >/dev/null 2>&1 &
  # Most of them while old files are removed and new ones come.
  sleep "$(printf '0.%06d' $((took * i * i / (STEN_CRASHES * STEN_CRASHES) % 1000000)))"
  kill -9 $! 2>/dev/null || true
  wait $! 2>/dev/null || true
  if [ $((i % 2)) = 0 ] || ! train run --resume --seed 3 >/dev/null 2>&1; then train run --force --seed 3 >/dev/null; fi
  files run | diff - wanted >&2 || fail 'killed with --force, the run that follows gives other bytes'
  [ "$(cat run/theirs/notes run/checkpoints/theirs/notes)" = "notes
notes" ] || fail 'files of others are gone'
done
