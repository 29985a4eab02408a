# SPDX-License-Identifier: Apache-2.0
# SIGINT and SIGTERM: the step is finished, a checkpoint saved, and --resume continues from there.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_recipe.sh"
cd "$T"
flags='--set checkpoints.every=0 --set steps=4000 --set sparsity.0.schedule.end=80'
train whole $flags --set steps=4000 >/dev/null

for signal in TERM INT; do
  code=$((128 + $(kill -l $signal)))
  rm -rf run
  status=0
  # With job control, or the shell would let the program ignore SIGINT.
  (
    set -m
    sten-train "$RECIPE" --out run --threads 1 $flags >"$T/out" 2>"$T/err" &
    # In the midst of it.
    for _ in $(seq 1000); do
      [ "$(wc -l 2>/dev/null <run/metrics.jsonl || echo 0)" -lt 3 ] || break
      sleep 0.01
    done
    kill -$signal $!
    wait $!
  ) 2>/dev/null || status=$?
  [ $status = $code ] || fail "ended with $status after SIG$signal, not $code"
  grep -qxE 'sten-train: interrupted; step [0-9]+ is saved; --resume continues' err || fail 'it does not say what is left'
  [ ! -s out ] || fail "printed something after SIG$signal"
  [ "$(ls run/checkpoints | wc -l)" = 1 ] || fail "checkpoints are $(ls run/checkpoints)"
  expect_exit 0 sten-train "$RECIPE" --out run --threads 1 $flags --resume
  expect_err 'continues after step '
  cmp run/model.sten.safetensors whole/model.sten.safetensors || fail 'the resumed run gives another model'
done
