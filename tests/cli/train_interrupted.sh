# SPDX-License-Identifier: Apache-2.0
# On SIGINT and SIGTERM, sten-train finishes the step and saves a checkpoint; --resume continues.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_recipe.sh"
cd "$T"
flags='--set checkpoints.every=0 --set steps=4000 --set sparsity.0.schedule.end=80'
train whole $flags --set steps=4000 >/dev/null

for signal in TERM INT; do
  code=$((128 + $(kill -l $signal)))
  rm -rf run
  status=0
  # Without job control, the shell would make the program ignore SIGINT.
  (
    set -m
    sten-train "$RECIPE" --out run --threads 1 $flags >"$T/out" 2>"$T/err" &
    # Wait until the run has written three lines of metrics.
    for _ in $(seq 1000); do
      [ "$(wc -l 2>/dev/null <run/metrics.jsonl || echo 0)" -lt 3 ] || break
      sleep 0.01
    done
    kill -$signal $!
    wait $!
  ) 2>/dev/null || status=$?
  [ $status = $code ] || fail "after SIG$signal: expected exit code $code, got $status"
  grep -qxE 'sten-train: interrupted; step [0-9]+ is saved; --resume continues' err || fail 'the message does not say which step is saved'
  [ ! -s out ] || fail "stdout is not empty after SIG$signal"
  [ "$(ls run/checkpoints | wc -l)" = 1 ] ||
    fail "expected one checkpoint, got: $(ls run/checkpoints)"
  expect_exit 0 sten-train "$RECIPE" --out run --threads 1 $flags --resume
  expect_err 'continues after step '
  cmp run/model.sten.safetensors whole/model.sten.safetensors || fail 'the resumed run differs from the uninterrupted run'
done
