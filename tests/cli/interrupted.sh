# SPDX-License-Identifier: Apache-2.0
# An interrupted run leaves no partial output: either no output or the old one, unchanged.
. "$(dirname "$0")/_lib.sh"

mkdir "$T/work" "$T/tmp"
cd "$T/work"
export TMPDIR=$T/tmp
mkfifo ../fifo
exec 9<>../fifo # open for reading and writing: no end blocks, and the data never end

# interrupt SIGNAL PROGRAM ARGUMENT...: runs PROGRAM, and sends it SIGNAL after it has read most of
# its input from the FIFO.
interrupt() {
  # Without job control the shell would make a background program ignore SIGINT.
  (
    set -m
    "${@:2}" >"$T/out" 2>"$T/err" &
    timeout 60 head -c 1000000 "$MODEL" >&9 # far more than a FIFO holds
    kill -"$1" $!
    wait $!
  ) 2>/dev/null
}

echo old >old
for signal in TERM INT HUP; do
  code=$((128 + $(kill -l $signal)))
  for command in 'sten-prune ../fifo -o new --sparsity 0.9' \
    'sten-prune ../fifo -o old --force --sparsity 0.9' \
    'sten-convert ../fifo -o new --to csr --report report.json' 'sten-energy ../fifo'; do
    status=0
    interrupt $signal $command || status=$?
    [ $status = $code ] || fail "'$command' ended with $status after SIG$signal, not $code"
    [ ! -s "$T/out" ] || fail "'$command' printed to standard output after SIG$signal"
    # One error line gives the state of each output.
    expect_one_line_err
    case $command in
      *energy*) expect_err 'sten-energy: interrupted' ;;
      *convert*) expect_err "sten-convert: interrupted: 'new' is not written, 'report.json' is not written; what was unfinished is removed" ;;
      *force*) expect_err "sten-prune: interrupted: 'old' is as it was; what was unfinished is removed" ;;
      *) expect_err "sten-prune: interrupted: 'new' is not written; what was unfinished is removed" ;;
    esac
    while read -r -t 0.01 -N 4096 <&9; do :; done 2>/dev/null # drain the unread input
  done
done
[ "$(cat old)" = old ] || fail 'the old output was changed'
[ "$(ls -A)" = old ] || fail "expected only the file old, got: $(ls -A)"

# An interrupt while the program writes into a FIFO whose reader has stopped reading.
(
  set -m
  sten-prune "$MODEL" -o ../fifo --sparsity 0.9 >"$T/out" 2>"$T/err" &
  timeout 60 head -c 100000 <&9 >/dev/null
  kill -TERM $!
  wait $!
) 2>/dev/null && status=0 || status=$?
[ $status = 143 ] || fail "writing to a FIFO ended with $status after SIGTERM, not 143"

# With several inputs, the finished outputs stay.
cp "$MODEL" first.safetensors
status=0
interrupt INT sten-prune first.safetensors ../fifo --out-dir several --sparsity 0.9 -q || status=$?
[ $status = 130 ] || fail "a batch ended with $status after SIGINT, not 130"
expect_one_line_err
expect_err 'sten-prune: interrupted; 1 of 2 inputs are done; --skip-existing continues with the others'
[ "$(echo $(ls -A several))" = ".sten-batch.json first.safetensors" ] ||
  fail "several has unexpected files: $(ls -A several)"
while read -r -t 0.01 -N 4096 <&9; do :; done 2>/dev/null

# Of a staged run, the stages in the state directory stay.
stages() {
  (
    set -m
    sten-prune first.safetensors -o staged.safetensors --include '*key.weight' --schedule linear:from=0,to=0.5,stages=3 \
      --finetune "cp {in} {out}; [ {stage} != $1 ] || { : >../ready; sleep 60; }" --state ../state$1 -q >"$T/out" 2>"$T/err" &
    for _ in $(seq 1000); do
      [ ! -e ../ready ] || break
      sleep 0.01
    done
    kill -INT $!
    wait $!
  ) 2>/dev/null && status=0 || status=$?
  rm -f ../ready
  [ $status = 130 ] || fail "stages ended with $status after SIGINT, not 130"
  expect_one_line_err
  expect_err "sten-prune: interrupted: 'staged.safetensors' is not written; what was unfinished is removed; '../state$1' $2"
}
stages 1 'contains no stage yet; the same command starts again'
stages 3 'keeps 2 of 3 stages; --resume continues'
rm -r several first.safetensors

# After SIGKILL at any moment the output is either the complete old file or the complete new file.
sten-prune "$MODEL" -o new --sparsity 0.9 -q >/dev/null
for delay in 0.005 0.01 0.015 0.02 0.025 0.03 0.035 0.04 0.05 0.06 0.08 0.15; do
  cp "$MODEL" old
  (timeout -s KILL $delay sten-prune "$MODEL" -o old --force --sparsity 0.9 || true) >"$T/out" 2>&1
  cmp -s old "$MODEL" || cmp -s old new ||
    fail "killed after $delay s, the output is neither the old nor the new file"
done
[ -z "$(ls -A "$T/tmp")" ] || fail "temporary files were left behind: $(ls -A "$T/tmp")"
