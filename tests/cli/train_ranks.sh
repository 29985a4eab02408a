# SPDX-License-Identifier: Apache-2.0
# Several processes under mpirun train one model: the values of one process, deterministic bytes,
# and one line for errors.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_recipe.sh"
cd "$T"

# A process that is one of several does not train alone where there is no MPI for it.
mkdir lib
cp -L "$STEN_BIN"/../lib/libsten.so.[0-9] lib/
OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0 LD_LIBRARY_PATH=$T/lib expect_exit 1 train alone
expect_one_line_err
expect_err 'MPI cannot be loaded for a run of several ranks'
[ ! -e alone ] || fail 'it trained alone'

# As root, with more ranks than processors, and without what containers do not allow.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_btl=self,vader OMPI_MCA_btl_vader_single_copy_mechanism=none
if [ ! -e "$STEN_BIN/../lib/libsten_mpi.so" ] || ! mpirun -q -n 2 true 2>/dev/null; then
  echo 'ranks: skipped, MPI was not built, or mpirun does not start anything'
  exit 77
fi

# ranks N COMMAND...; ranks_train N DIR FLAG...
ranks() { mpirun -q -n "$1" "${@:2}"; }
ranks_train() { ranks "$1" sten-train "$RECIPE" --out "$2" ${QUIET--q} --threads 1 --set logging.every=1 "${@:3}"; }
files() { (cd "$1" && find . -name '*.safetensors' | LC_ALL=C sort | xargs sha256sum); }
losses() { sed -E 's/^\{"step":([0-9]+),("split":"([a-z]+)",)?"loss":([^,]+),.*/\1\3 \4/' "$1/metrics.jsonl"; }
# same_losses A B: of every step and evaluation, within 1e-5.
same_losses() {
  [ "$(losses "$1" | wc -l)" -gt 2 ] || fail "$1 has no losses"
  losses "$1" >a
  losses "$2" >b
  paste -d ' ' a b | awk '$1 != $3 || $2 - $4 > 1e-5 || $4 - $2 > 1e-5 || NF != 4 { exit 1 }' ||
    fail "$1 and $2 have other losses: $(diff a b | head -4)"
}
# fact RUN NAME: a number of its summary.
fact() { sed -n "s/.*\"$2\": \([0-9]*\).*/\1/p" "$1/summary.json"; }

# Masks in stages, and gradients that are clipped.
masks='--set sparsity.0.mask=fixed --set steps=80'
expect_exit 0 train one --set logging.every=1 $masks
for n in 2 4; do
  QUIET='' expect_exit 0 ranks_train $n of$n $masks
  expect_out "$n ranks; in the last step each gave"
  [ "$(grep -c 'wrote of' out)" = 1 ] || fail 'other ranks than the first say something, too'
  same_losses one of$n
done
expect_exit 0 ranks_train 4 again4 $masks
files of4 >wanted
files again4 | diff wanted - >&2 || fail 'four ranks give other bytes the second time'
# Masks that are refreshed: AdamW moves all that come back by as much, and rounding chooses among
# them, but on all ranks in the same way.
expect_exit 0 ranks_train 2 refreshed --set steps=80
expect_exit 0 ranks_train 2 again --set steps=80
files refreshed >wanted
files again | diff wanted - >&2 || fail 'two ranks give other bytes the second time'

# Layers that are pruned until the loss has recovered: the same ones on any number of ranks.
until='{"kind": "layer-wise", "until": "recovered", "tolerance": 0.5, "rounds": 2, "patience": 2, "begin": 40}'
until="--set sparsity=[{\"target\":\"layers.*.weight\",\"sparsifier\":\"magnitude:sparsity=0.98\",\"schedule\":${until// /}}]"
until="$until --set evaluation.keep_best=false --set rate=null --set steps=100"
layers() { tr -d ' \n' <"$1/summary.json" | grep -oE '"left_dense":"[^"]*"|"pruned_at":[0-9]*,"rounds":[0-9]*'; }
expect_exit 0 train recovered1 $until
expect_exit 0 ranks_train 2 recovered2 $until
layers recovered1 >wanted
[ "$(grep -c pruned_at wanted)" = 3 ] || fail "one rank pruned other layers: $(cat wanted)"
layers recovered2 | diff wanted - >&2 || fail 'two ranks prune other layers than one'

# Of weights with a fixed mask a quarter of the values travels: exactly so.
fixed="$masks --set steps=20 --set sparsity.0.schedule=null --set sparsity.0.sparsifier=magnitude:sparsity=0.75"
expect_exit 0 ranks_train 2 fixed $fixed
[ "$(fact fixed sparse_bytes_if_dense)" = $((4 * (64 * 48 + 48 * 32))) ] || fail 'the weights have another size'
[ "$(fact fixed sparse_bytes)" = $((64 * 48 + 48 * 32)) ] || fail "$(fact fixed sparse_bytes) bytes of masked gradients"
rest=$((4 * (32 * 10 + 48 + 32 + 10)))
[ "$(fact fixed bytes)" = $((64 * 48 + 48 * 32 + rest)) ] || fail "$(fact fixed bytes) bytes of gradients"

# What travels while gradients are computed is what travels afterwards.
expect_exit 0 ranks_train 2 during $fixed --set exchange.overlap=always
[ "$(fact during bytes)" = "$(fact fixed bytes)" ] || fail 'it sends another number of bytes'
cmp fixed/model*.safetensors during/model*.safetensors || fail 'the bytes depend on when gradients travel'
# As bfloat16, half of it, with losses that are nearly the same on all ranks.
expect_exit 0 ranks_train 4 rounded $fixed --set exchange.transport=bfloat16
[ $(("$(fact rounded bytes)" * 2)) = "$(fact fixed bytes)" ] || fail "$(fact rounded bytes) bytes as bfloat16"
losses fixed >a
losses rounded >b
paste -d ' ' a b | awk '$2 - $4 > 0.02 || $4 - $2 > 0.02 { exit 1 } $2 != $4 { differs = 1 } END { exit !differs }' ||
  fail "bfloat16 changes too much, or nothing: $(diff a b | head -4)"
expect_exit 0 ranks_train 4 again $fixed --set exchange.transport=bfloat16 --force
cmp rounded/model*.safetensors again/model*.safetensors || fail 'bfloat16 gives other bytes the second time'

# Compressed: 1 % of each matrix with its indices, and biases whole; resumed, the same bytes, which a
# run that forgets what was not sent does not have.
sparse="--set sparsity=null --set steps=60 --set checkpoints.every=20 --set exchange.sparsifier=magnitude:sparsity=0.99"
expect_exit 0 ranks_train 2 compressed $sparse
kept=$((31 + 15 + 3)) # of 64 x 48, 48 x 32 and 32 x 10
[ "$(fact compressed compressed_bytes)" = $((8 + 3 * 4 + 8 * kept)) ] || fail "$(fact compressed compressed_bytes) compressed bytes"
[ "$(fact compressed bytes)" = $((8 + 3 * 4 + 8 * kept + 4 * (48 + 32 + 10))) ] || fail "$(fact compressed bytes) bytes of gradients"
files compressed >wanted
rm -r compressed/checkpoints/step-000060
expect_exit 0 ranks_train 2 compressed $sparse --resume
files compressed | diff wanted - >&2 || fail 'compressed gradients give other bytes after --resume'
expect_exit 0 ranks_train 2 forgets $sparse --set exchange.error_feedback=false
cmp -s compressed/model.safetensors forgets/model.safetensors && fail 'error feedback changes nothing'
# One process compresses, too.
QUIET='' expect_exit 0 train alone $sparse
expect_out '1 rank; among several it would give'
[ "$(fact alone bytes)" = "$(fact compressed bytes)" ] || fail 'one rank counts other bytes'

# What the sums take, of each layout.
expect_exit 0 ranks 2 sten-bench allreduce --shape 2x64x70 --repeats 2 --json
bytes_of() { tr -d ' \n' <out | grep -o "\"layout\":\"$1[^}]*" | sed 's/.*"bytes":\([0-9]*\),.*/\1/'; }
[ "$(bytes_of dense)" = $((4 * 2 * 12 * 64 * 64)) ] || fail "dense has $(bytes_of dense) bytes"
for layout in nmg csr masked; do
  [ "$(bytes_of $layout)" = $((2 * 12 * 64 * 64)) ] || fail "$layout has $(bytes_of $layout) bytes"
done
expect_exit 0 ranks 2 sten-bench step --shape 1x32x70 --batch 2 --window 16 --repeats 2
for form in dense 'dense apart' 'dense alone' masked refreshed sparse 'sparse apart'; do
  grep -q "^step .* $form " out || fail "no row of $form"
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
[ $((4 * $(fact bert2 sparse_bytes))) = "$(fact bert2 sparse_bytes_if_dense)" ] || fail 'n:m:g sends more than its values'

# Interrupted by a signal to one rank, and killed: what goes on gives the bytes of the run that was
# left alone, and one process the numbers.
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
  [ $status = $((128 + $(kill -l $signal))) ] || fail "ended with $status after SIG$signal"
  [ ! -e run/summary.json ] || fail "it was over before SIG$signal"
  if [ $signal = TERM ]; then
    [ "$(grep -cE '^sten-train: interrupted; step [0-9]+ is saved; --resume continues$' err)" = 1 ] || fail 'it does not say what is left'
  fi
  QUIET='' expect_exit 0 ranks_train 2 run $long --resume
  expect_err 'continues after step '
  files run | diff wanted - >&2 || fail "after SIG$signal a resumed run gives other bytes"
done
# A rank that is stopped does not answer, and ends the others.
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
[ $status = 1 ] || fail "a stopped rank ends the others with $status"
expect_err "sten-train: rank 1 on $(hostname) has not answered for 2 s: it is stopped or gone"
rm -r run/checkpoints/step-000500
QUIET='' expect_exit 0 train run $long --set logging.every=1 --resume
expect_err '1 thread, 2 ranks and continues with'
same_losses whole run

# Refused by one line, and nothing is begun.
refused() { # CODE TEXT COMMAND...
  expect_exit "$1" "${@:3}"
  [ "$(grep -c '^sten-' err)" = 1 ] || fail 'it is not one line'
  expect_err "$2"
  [ ! -e refused ] || fail 'it began'
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
# Nor do they wait for one that runs something else.
refused 1 'sten-train: not all ranks have begun after 2 s' mpirun -q -x STEN_RANK_TIMEOUT=2 $(one) : -n 1 sleep 100
# One that is over before others begin may end them by mpirun, too.
status=0
timeout -k 5 60 mpirun -q -x STEN_RANK_TIMEOUT=2 $(one) : -n 1 sten-train --version >out 2>err || status=$?
[ $status = 1 ] || fail "a rank that never joins ends the others with $status"
# An error of one rank ends all.
refused 1 '/none.csv: No such file or directory' mpirun -q $(one) : $(one --set data.file=none.csv)
expect_err 'sten-train: rank 1: '
# So does one of a rank without memory, unless it gets along: no library waits for more. (With less than
# this, Open MPI crashes when it starts, since it does not check its allocations.)
for limit in 235000 330000; do
  status=0
  timeout -k 5 60 mpirun -q -n 2 sh -c '[ $OMPI_COMM_WORLD_RANK = 0 ] || ulimit -v '$limit'; exec "$@"' - \
    sten-train "$RECIPE" --out limited -q --threads 1 --set steps=10 --set sparsity=null --force >out 2>err || status=$?
  case $status in
    124 | 137) fail "ranks of which one has $limit kB wait for ever" ;;
    1) expect_err 'sten-train: rank 1: ' ;;
  esac
done
