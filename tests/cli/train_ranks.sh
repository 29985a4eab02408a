# SPDX-License-Identifier: Apache-2.0
# Several processes under mpirun train one model: losses match those of one process, results are
# deterministic, and an error is one line.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_recipe.sh"
cd "$T"

# One of several ranks does not train alone if MPI cannot be loaded.
mkdir lib
cp -L "$STEN_BIN"/../lib/libsten.so.[0-9] lib/
OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0 LD_LIBRARY_PATH=$T/lib expect_exit 1 train alone
expect_one_line_err
expect_err 'MPI cannot be loaded for a run of several ranks'
[ ! -e alone ] || fail 'the rank trained alone'

# Allows root and more ranks than processors, and avoids copies that containers forbid.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_btl=self,vader OMPI_MCA_btl_vader_single_copy_mechanism=none
if [ ! -e "$STEN_BIN/../lib/libsten_mpi.so" ] || ! mpirun -q -n 2 true 2>/dev/null; then
  echo 'ranks: skipped, MPI was not built, or mpirun cannot start processes'
  exit 77
fi

# ranks N COMMAND...; ranks_train N DIR FLAG...
ranks() { mpirun -q -n "$1" "${@:2}"; }
ranks_train() { ranks "$1" sten-train "$RECIPE" --out "$2" ${QUIET--q} --threads 1 --set logging.every=1 "${@:3}"; }
files() { (cd "$1" && find . -name '*.safetensors' | LC_ALL=C sort | xargs sha256sum); }
losses() { sed -E 's/^\{"step":([0-9]+),("split":"([a-z]+)",)?"loss":([^,]+),.*/\1\3 \4/' "$1/metrics.jsonl"; }
# same_losses A B: the losses of all steps and evaluations agree within 1e-5.
same_losses() {
  [ "$(losses "$1" | wc -l)" -gt 2 ] || fail "$1 has no losses"
  losses "$1" >a
  losses "$2" >b
  paste -d ' ' a b | awk '$1 != $3 || $2 - $4 > 1e-5 || $4 - $2 > 1e-5 || NF != 4 { exit 1 }' ||
    fail "the losses of $1 and $2 differ: $(diff a b | head -4)"
}
# fact RUN NAME: an integer of the run's summary.
fact() { sed -n "s/.*\"$2\": \([0-9]*\).*/\1/p" "$1/summary.json"; }

# Fixed masks that are set in stages, with gradient clipping.
masks='--set sparsity.0.mask=fixed --set steps=80'
expect_exit 0 train one --set logging.every=1 $masks
for n in 2 4; do
  QUIET='' expect_exit 0 ranks_train $n of$n $masks
  expect_out "$n ranks; in the last step each gave"
  [ "$(grep -c 'wrote of' out)" = 1 ] || fail 'expected the summary from one rank only'
  same_losses one of$n
done
expect_exit 0 ranks_train 4 again4 $masks
files of4 >wanted
files again4 | diff wanted - >&2 || fail 'two runs with four ranks give different bytes'
# Refreshed masks: AdamW moves all regrown weights by the same amount, so that rounding decides
# which ones are kept, but identically on all ranks.
expect_exit 0 ranks_train 2 refreshed --set steps=80
expect_exit 0 ranks_train 2 again --set steps=80
files refreshed >wanted
files again | diff wanted - >&2 || fail 'two runs with two ranks give different bytes'

# Pruning until the loss has recovered prunes the same layers on any number of ranks.
until='{"kind": "layer-wise", "until": "recovered", "tolerance": 0.5, "rounds": 2, "patience": 2, "begin": 40}'
until="--set sparsity=[{\"target\":\"layers.*.weight\",\"sparsifier\":\"magnitude:sparsity=0.98\",\"schedule\":${until// /}}]"
until="$until --set evaluation.keep_best=false --set rate=null --set steps=100"
layers() { tr -d ' \n' <"$1/summary.json" | grep -oE '"left_dense":"[^"]*"|"pruned_at":[0-9]*,"rounds":[0-9]*'; }
expect_exit 0 train recovered1 $until
expect_exit 0 ranks_train 2 recovered2 $until
layers recovered1 >wanted
[ "$(grep -c pruned_at wanted)" = 3 ] ||
  fail "one rank: expected three pruned layers, got: $(cat wanted)"
layers recovered2 | diff wanted - >&2 || fail 'two ranks prune different layers than one rank'

# With a fixed mask of sparsity 0.75, exactly a quarter of the gradient values is sent.
fixed="$masks --set steps=20 --set sparsity.0.schedule=null --set sparsity.0.sparsifier=magnitude:sparsity=0.75"
expect_exit 0 ranks_train 2 fixed $fixed
[ "$(fact fixed sparse_bytes_if_dense)" = $((4 * (64 * 48 + 48 * 32))) ] || fail 'sparse_bytes_if_dense is not the size of the dense gradients'
[ "$(fact fixed sparse_bytes)" = $((64 * 48 + 48 * 32)) ] || fail "unexpected volume of masked gradients: $(fact fixed sparse_bytes) bytes"
rest=$((4 * (32 * 10 + 48 + 32 + 10)))
[ "$(fact fixed bytes)" = $((64 * 48 + 48 * 32 + rest)) ] || fail "unexpected volume of gradients: $(fact fixed bytes) bytes"

# Sending gradients during the backward pass sends the same bytes as sending them afterwards.
expect_exit 0 ranks_train 2 during $fixed --set exchange.overlap=always
[ "$(fact during bytes)" = "$(fact fixed bytes)" ] ||
  fail 'overlap changes the number of bytes sent'
cmp fixed/model*.safetensors during/model*.safetensors || fail 'overlap changes the model'
# bfloat16 halves the communication volume, and changes the losses only slightly.
expect_exit 0 ranks_train 4 rounded $fixed --set exchange.transport=bfloat16
[ $(("$(fact rounded bytes)" * 2)) = "$(fact fixed bytes)" ] || fail "bfloat16: expected half of $(fact fixed bytes) bytes, got $(fact rounded bytes)"
losses fixed >a
losses rounded >b
paste -d ' ' a b | awk '$2 - $4 > 0.02 || $4 - $2 > 0.02 { exit 1 } $2 != $4 { differs = 1 } END { exit !differs }' ||
  fail "bfloat16 changes the losses too much, or not at all: $(diff a b | head -4)"
expect_exit 0 ranks_train 4 again $fixed --set exchange.transport=bfloat16 --force
cmp rounded/model*.safetensors again/model*.safetensors || fail 'two runs with bfloat16 give different bytes'

# Compressed gradients send 1 % of each matrix with indices, and whole biases. A resumed run gives
# the same bytes; a run without error feedback gives different ones.
sparse="--set sparsity=null --set steps=60 --set checkpoints.every=20 --set exchange.sparsifier=magnitude:sparsity=0.99"
expect_exit 0 ranks_train 2 compressed $sparse
kept=$((31 + 15 + 3)) # of 64 x 48, 48 x 32 and 32 x 10
[ "$(fact compressed compressed_bytes)" = $((8 + 3 * 4 + 8 * kept)) ] || fail "unexpected volume of compressed gradients: $(fact compressed compressed_bytes) bytes"
[ "$(fact compressed bytes)" = $((8 + 3 * 4 + 8 * kept + 4 * (48 + 32 + 10))) ] || fail "unexpected volume of gradients: $(fact compressed bytes) bytes"
files compressed >wanted
rm -r compressed/checkpoints/step-000060
expect_exit 0 ranks_train 2 compressed $sparse --resume
files compressed | diff wanted - >&2 ||
  fail 'with compressed gradients, the resumed run differs from the uninterrupted run'
expect_exit 0 ranks_train 2 forgets $sparse --set exchange.error_feedback=false
cmp -s compressed/model.safetensors forgets/model.safetensors && fail 'error feedback changes nothing'
# A single process also compresses gradients.
QUIET='' expect_exit 0 train alone $sparse
expect_out '1 rank; among several it would give'
[ "$(fact alone bytes)" = "$(fact compressed bytes)" ] ||
  fail 'one rank reports a different number of bytes than two ranks'

# sten-bench allreduce reports the bytes sent for each layout.
expect_exit 0 ranks 2 sten-bench allreduce --shape 2x64x70 --repeats 2 --json
bytes_of() { tr -d ' \n' <out | grep -o "\"layout\":\"$1[^}]*" | sed 's/.*"bytes":\([0-9]*\),.*/\1/'; }
[ "$(bytes_of dense)" = $((4 * 2 * 12 * 64 * 64)) ] ||
  fail "unexpected volume of dense: $(bytes_of dense) bytes"
for layout in nmg csr masked; do
  [ "$(bytes_of $layout)" = $((2 * 12 * 64 * 64)) ] ||
    fail "unexpected volume of $layout: $(bytes_of $layout) bytes"
done
expect_exit 0 ranks 2 sten-bench step --shape 1x32x70 --batch 2 --window 16 --repeats 2
for form in dense 'dense apart' 'dense alone' masked refreshed sparse 'sparse apart'; do
  grep -q "^step .* $form " out || fail "the table lacks the row '$form'"
done
expect_exit 2 ranks 2 sten-bench gemm --shape 96x96x64
expect_err 'gemm runs in one process'

# A few steps of a BERT, with weights stored as n:m:g.
bert() {
  "${@:2}" sten-train "$STEN_SOURCE/recipes/shakespeare-bert-nmg.json" --out "$1" -q --threads 1 --set batch=4 \
    --set data.window=32 --set data.train=0.002 --set data.validation=0 --set steps=4 --set rate=null --set evaluation=null \
    --set evaluation.test=false --set logging.every=1 --set products="$PRODUCTS" --set sparsity.0.layout=nmg
}
expect_exit 0 bert bert1
expect_exit 0 bert bert2 ranks 2
same_losses bert1 bert2
[ $((4 * $(fact bert2 sparse_bytes))) = "$(fact bert2 sparse_bytes_if_dense)" ] || fail 'n:m:g does not send a quarter of the dense bytes'

# One rank is interrupted or killed: the resumed run gives the bytes of the uninterrupted run. One
# process can resume the run with the same losses.
long="$masks --set steps=500 --set checkpoints.every=40"
expect_exit 0 ranks_train 2 whole $long
files whole >wanted
for signal in TERM KILL; do
  rm -rf run pid.*
  status=0
  (
    ranks 2 sh -c 'echo $$ >pid.$OMPI_COMM_WORLD_RANK; exec "$@"' - sten-train "$RECIPE" --out run -q --threads 1 \
      --set logging.every=1 $long >out 2>err &
    for _ in $(seq 3000); do
      [ "$(wc -l 2>/dev/null <run/metrics.jsonl || echo 0)" -lt 100 ] || break
      sleep 0.01
    done
    kill -$signal "$(cat pid.1)"
    wait $!
  ) 2>/dev/null || status=$?
  [ $status = $((128 + $(kill -l $signal))) ] ||
    fail "unexpected exit code $status after SIG$signal"
  [ ! -e run/summary.json ] || fail "the run finished before SIG$signal"
  if [ $signal = TERM ]; then
    [ "$(grep -cE '^sten-train: interrupted; step [0-9]+ is saved; --resume continues$' err)" = 1 ] || fail 'expected one message that says which step is saved'
  fi
  QUIET='' expect_exit 0 ranks_train 2 run $long --resume
  expect_err 'continues after step '
  files run | diff wanted - >&2 ||
    fail "the run resumed after SIG$signal differs from the uninterrupted run"
done
# A stopped rank does not answer, and the other ranks end with an error.
rm -rf pid.*
status=0
(
  STEN_RANK_TIMEOUT=2 ranks 2 sh -c 'echo $$ >pid.$OMPI_COMM_WORLD_RANK; exec "$@"' - sten-train "$RECIPE" --out stopped \
    -q --threads 1 --set steps=1000000 --set epochs=null >out 2>err &
  for _ in $(seq 3000); do
    [ ! -s stopped/metrics.jsonl ] || break
    sleep 0.01
  done
  kill -STOP "$(cat pid.1)"
  wait $!
) 2>/dev/null || status=$?
[ $status = 1 ] || fail "a stopped rank: expected exit code 1, got $status"
expect_err "sten-train: rank 1 on $(hostname) has not answered for 2 s: it is stopped or gone"
rm -r run/checkpoints/step-000500
QUIET='' expect_exit 0 train run $long --set logging.every=1 --resume
expect_err '1 thread, 2 ranks and continues with'
same_losses whole run

# Errors are one line, and the run is not started.
refused() { # CODE TEXT COMMAND...
  expect_exit "$1" "${@:3}"
  [ "$(grep -c '^sten-' err)" = 1 ] || fail 'the error is not one line'
  expect_err "$2"
  [ ! -e refused ] || fail 'the rejected run was started'
}
one() { echo "-n 1 sten-train $RECIPE --out refused -q --threads 1 $*"; }
refused 2 '/batch: 32 is not divisible by the 3 parts of 3 ranks' ranks_train 3 refused
refused 2 'run: contains a run (--resume continues the run, --force replaces the run)' ranks_train 2 run $long
refused 2 'ranks differ in the recipe: /optimizer/rate is 0.004 on rank 0, 0.002 on rank 1' \
  mpirun -q $(one) : $(one --set optimizer.rate=0.002)
refused 2 'ranks differ in threads: 1 on rank 0, 2 on rank 1' mpirun -q $(one) : $(one --threads 2 | sed 's/--threads 1//')
refused 2 'ranks differ in instruction set: avx2 on rank 0, reference on rank 1' \
  mpirun -q -x STEN_ISA=avx2 $(one) : -x STEN_ISA=reference $(one)
for flag in --dry-run --resume; do
  refused 2 "ranks differ in $flag: not given on rank 0, given on rank 1" mpirun -q $(one) : $(one $flag)
done
refused 2 'ranks differ in --out: refused on rank 0, other on rank 1' mpirun -q $(one) : $(one --out other | sed 's/--out refused//')
refused 2 'ranks differ in threads: 1 on rank 0, no number on rank 1' mpirun -q $(one) : $(one | sed 's/--threads 1//')
refused 2 'ranks differ in program: sten-train on rank 0, sten-bench on rank 1' \
  mpirun -q $(one) : -n 1 sten-bench allreduce --shape 2x64x70 --repeats 2
# Ranks do not wait forever for a rank that runs another program.
refused 1 'sten-train: not all ranks have begun after 2 s' mpirun -q -x STEN_RANK_TIMEOUT=2 $(one) : -n 1 sleep 100
# If a rank ends before the others start, mpirun may also end the others.
status=0
timeout -k 5 60 mpirun -q -x STEN_RANK_TIMEOUT=2 $(one) : -n 1 sten-train --version >out 2>err || status=$?
[ $status = 1 ] || fail "a rank that never joins: expected exit code 1, got $status"
# An error on one rank ends all ranks.
refused 1 '/none.csv: No such file or directory' mpirun -q $(one) : $(one --set data.file=none.csv)
expect_err 'sten-train: rank 1: '
# With little memory, a rank either succeeds or ends all ranks with an error; it never hangs. (With
# less than this, Open MPI crashes at startup, because it does not check its allocations.)
for limit in 235000 330000; do
  status=0
  timeout -k 5 60 mpirun -q -n 2 sh -c '[ $OMPI_COMM_WORLD_RANK = 0 ] || ulimit -v '$limit'; exec "$@"' - \
    sten-train "$RECIPE" --out limited -q --threads 1 --set steps=10 --set sparsity=null --force >out 2>err || status=$?
  case $status in
    124 | 137) fail "the ranks hang if one of them has only $limit kB of memory" ;;
    1) expect_err 'sten-train: rank 1: ' ;;
  esac
done
