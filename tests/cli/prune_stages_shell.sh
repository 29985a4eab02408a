# SPDX-License-Identifier: Apache-2.0
# The command of --finetune gets paths verbatim, whatever their characters and wherever the
# placeholders are. Its output must be a file or a directory, and its processes end with sten-prune.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_safetensors.sh"
cd "$T"
safetensors in.safetensors "{$(entry a.weight F32 2,2 0 16),$(entry b.weight F32 2,2 16 32)}" "$F1$F2$F3$F4$F4$F3$F2$F1"
prune() { sten-prune in.safetensors --schedule linear:from=0,to=0.5,stages=1 -q "$@"; }
expect_exit 0 prune -o wanted.safetensors --state whole --finetune 'cp {in} {out}'

data wanted.safetensors >wanted
number=0
for place in 'a b' '$(touch ran)' '`touch ran`' "it's" 'say "hi"' $'two\nlines' '; touch ran #' '*' '$HOME' 'back\slash\' \
  $'\xff\xfe' "'; touch ran; '" '"; touch ran; "' '{out}' '-n'; do
  for command in 'cp {in} "{out}"' "cp '{in}' {out}" 'x="$(printf %s. "{in}")"; sh -c "cp \"\$0\" \"\$STEN_OUT\"" "${x%.}" # {out}'; do
    number=$((number + 1))
    mkdir "./$place.$number"
    held 85 expect_exit 0 prune -o out$number.safetensors --state "./$place.$number/state" --finetune "$command; test -s \"{mask}\""
    data out$number.safetensors | cmp - wanted || fail "'$command' in '$place': wrong output"
    [ -z "$(find . -name 'ran*')" ] || fail "'$command' executed a part of the path '$place'"
  done
done

# Outputs of the command that cannot be read to their end are rejected.
left() { # TEXT COMMAND
  rm -rf state
  expect_exit 1 timeout 60 sten-prune in.safetensors --schedule linear:from=0,to=0.5,stages=1 -o no.safetensors --state state --finetune "$2"
  expect_one_line_err
  expect_err "$1"
  [ ! -e no.safetensors ] || fail "'$2' was rejected but left an output"
}
left 'stage 1: {out} of the command: expected a file or a directory, got a FIFO' 'mkfifo {out} # {in}'
left 'stage 1: {out} of the command: expected a file or a directory, got a device' 'ln -s /dev/zero {out} # {in}'
left '{metrics} of the command: expected a file, got a device' 'cp {in} {out}; ln -s /dev/zero {metrics}'
left '{metrics} of the command: expected a file, got a FIFO' 'cp {in} {out}; mkfifo {metrics}'
left '{metrics} of the command: expected a file, got a directory' 'cp {in} {out}; mkdir {metrics}'
left '{metrics} of the command: expected at most 1048576 bytes' 'cp {in} {out}; head -c 2000000 /dev/zero >{metrics}'

# SIGKILL of sten-prune also ends the processes of the command, even if they ignore other signals.
sten-prune in.safetensors -o no.safetensors --schedule linear:from=0,to=0.5,stages=1 --state killed --finetune \
  "(trap '' TERM HUP INT; for i in \$(seq 1000); do date +%N >alive; sleep 0.05; done) & wait; cp {in} {out}" >out 2>err &
program=$!
for _ in $(seq 400); do
  [ -e alive ] && break
  sleep 0.05
done
[ -e alive ] || fail 'the command did not start'
kill -9 $program
wait $program 2>/dev/null || true
for _ in $(seq 20); do
  before=$(cat alive)
  sleep 0.5
  [ "$(cat alive)" != "$before" ] || exit 0
done
fail 'a process of the command still runs after SIGKILL of sten-prune'
