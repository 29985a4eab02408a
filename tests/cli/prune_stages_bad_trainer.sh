# SPDX-License-Identifier: Apache-2.0
# Fine-tuning commands that fail: a one-line error names the stage and the cause.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_safetensors.sh"
cd "$T"
safetensors in.safetensors "{$(entry a.weight F32 2,2 0 16),$(entry b.weight F32 2,2 16 32)}" "$F1$F2$F3$F4$F4$F3$F2$F1"
safetensors lost.safetensors "{$(entry a.weight F32 2,2 0 16)}" "$F1$F2$F3$F4"
safetensors turned.safetensors "{$(entry a.weight F32 4,1 0 16),$(entry b.weight I32 2,2 16 32)}" "$F1$F2$F3$F4$F4$F3$F2$F1"
safetensors nan.safetensors "{$(entry a.weight F32 2,2 0 16),$(entry b.weight F32 2,2 16 32)}" "$F0$F0$F3$F4$F4$F3\x00\x00\xc0\x7f$F0"
safetensors more.safetensors "{$(entry a.weight F32 2,2 0 16),$(entry b.weight F32 2,2 16 32),$(entry c F32 1 32 36)}" "$F0$F0$F3$F4$F4$F3$F0$F0$F1"

prune() {
  rm -rf state
  sten-prune in.safetensors -o out.safetensors --schedule linear:from=0,to=0.5,stages=1 --state state "$@"
}
trainer_fails() { # TEXT COMMAND [FLAG...]
  expect_exit 1 prune --finetune "$2" "${@:3}"
  expect_one_line_err
  expect_err "stage 1: $1"
  [ ! -e out.safetensors ] || fail "a failed run left an output"
  [ "$(ls -A state)" = run.json ] || fail "expected only run.json in state, got $(ls -A state)"
}
trainer_fails "the command ended with exit code 3" 'exit 3 # {in} {out}'
trainer_fails "the command was ended by signal 15" 'kill $$ # {in} {out}'
held 63 trainer_fails "{out} of the command: output not found" 'true {in} {out}'
trainer_fails "the command was ended after 0.2 s (--finetune-timeout)" 'sleep 20; true {in} {out}' --finetune-timeout 0.2
trainer_fails "output of the command: {out}: 'b.weight' is missing" 'cp lost.safetensors {out} # {in}'
trainer_fails "output of the command: {out}: 'a.weight' was [2, 2] and is [4, 1]; 'b.weight' was F32 and is I32" 'cp turned.safetensors {out} # {in}'
trainer_fails "output of the command: {out}: 'b.weight': element 2 turned NaN or infinite" 'cp nan.safetensors {out} # {in}'
trainer_fails "output of the command: {out}: has 6 bytes" 'printf broken >{out} # {in}'
expect_exit 1 prune --finetune 'cp {in} {out}; true {metrics}'
expect_err 'stage 0: {metrics} of the command: missing'
expect_exit 1 prune --finetune 'cp {in} {out}; echo [] >{metrics}'
expect_err 'stage 0: {metrics} of the command: expected a JSON object'

# Pruned positions that the command changes are reset to 0 and counted; new tensors are reported.
expect_exit 0 prune --finetune 'cp in.safetensors {out} # {in}'
expect_out "the command changed 4 pruned positions; they were set to 0 again"
expect_exit 0 sten-energy out.safetensors --json
expect_out '"nnz": 4'
rm out.safetensors
expect_exit 0 prune --finetune 'cp more.safetensors {out} # {in}'
expect_err "new tensor 'c'"
rm out.safetensors

# Metadata that the command drops is restored; metadata that it changes stays changed.
tensors="$(entry a.weight F32 2,2 0 16),$(entry b.weight F32 2,2 16 32)"
safetensors pt.safetensors "{\"__metadata__\":{\"format\":\"pt\",\"by\":\"old\"},$tensors}" "$F1$F2$F3$F4$F4$F3$F2$F1"
safetensors dropped.safetensors "{\"__metadata__\":{\"by\":\"new\"},$tensors}" "$F1$F2$F3$F4$F4$F3$F2$F1"
expect_exit 0 sten-prune pt.safetensors -o kept.safetensors --schedule linear:from=0,to=0.5,stages=2 --state kept \
  --finetune 'cp dropped.safetensors {out} # {in}'
header kept.safetensors | grep -q '"by":"new"' || fail "metadata that the trainer changed is lost"
header kept.safetensors | grep -q '"format":"pt"' || fail "the metadata that the trainer dropped was not restored"

# The command's standard output is passed to standard error, so that it is not mixed with results.
expect_exit 0 prune --finetune 'echo hello; cp {in} {out}' --json
expect_err hello
if grep -q hello "$T/out"; then fail "the output of the command is mixed with the results"; fi

# SIGTERM to sten-prune also ends the command, and no unfinished stage is left.
rm -rf state out.safetensors
sten-prune in.safetensors -o out.safetensors --schedule linear:from=0,to=0.5,stages=1 --state state \
  --finetune "echo \$\$ >pid; sleep 30; cp {in} {out}" -q 2>/dev/null &
program=$!
for _ in $(seq 200); do
  [ -s pid ] && break
  sleep 0.05
done
kill -TERM $program
status=0
wait $program || status=$?
[ $status = 143 ] || fail "expected exit code 143 after SIGTERM, got $status"
for _ in $(seq 100); do
  kill -0 "$(cat pid)" 2>/dev/null || break
  sleep 0.05
done
if kill -0 "$(cat pid)" 2>/dev/null; then fail "the command still runs after SIGTERM"; fi
[ "$(ls -A state)" = run.json ] || fail "an unfinished stage was left: $(ls -A state)"
