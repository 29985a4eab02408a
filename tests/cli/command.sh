# SPDX-License-Identifier: Apache-2.0
# "sten prune" runs the sten-prune beside sten, with the same arguments, output and exit code.
. "$(dirname "$0")/_lib.sh"

cd "$T"
for program in $PROGRAMS; do
  command=${program#sten-}
  $program --help >wanted
  expect_exit 0 sten "$command" --help
  cmp wanted out || fail "sten $command --help differs from $program --help"
  expect_exit 0 sten help "$command"
  cmp wanted out || fail "sten help $command differs from $program --help"
  expect_exit 0 sten --help
  grep -qxF "  $(printf '%-12s' "$command")$(head -n 1 wanted)" out ||
    fail "sten --help lacks the line of $command"
done
cp out help
for words in -h help; do
  expect_exit 0 sten $words
  cmp help out || fail "sten $words differs from sten --help"
done
awk 'length > 120 { exit 1 }' help || fail 'sten --help has a line of more than 120 columns'
expect_exit 0 sten --version
[ "$(cat out)" = "sten $(sten-prune --version | cut -d ' ' -f 2)" ] ||
  fail 'sten and sten-prune have different versions'

# sten passes arguments and standard input to the program, and returns its exit code.
expect_exit 0 sten prune "$MODEL" -o by-command.safetensors --sparsity 0.9 -q
sten-prune "$MODEL" -o by-program.safetensors --sparsity 0.9 -q
cmp by-command.safetensors by-program.safetensors ||
  fail 'the output of sten prune differs from that of sten-prune'
expect_exit 0 sten energy --list - <"$MODEL"
expect_exit 2 sten prune --sparsty 0.9
expect_err "sten-prune: unknown option '--sparsty', did you mean '--sparsity'?"
expect_exit 3 sten energy by-program.safetensors --min-sparsity 0.95

# sten runs the programs in its own directory, not those on the PATH, even through a symbolic link.
mkdir elsewhere
ln -s "$(realpath "$STEN_BIN/sten")" elsewhere/sten
PATH=/usr/bin:/bin expect_exit 0 elsewhere/sten prune --version
cp "$(realpath "$STEN_BIN/sten")" alone
expect_exit 1 env LD_LIBRARY_PATH="$(realpath "$STEN_BIN/../lib")" ./alone prune --version
expect_err "sten: $PWD/sten-prune: cannot be run: No such file or directory"

refused() { # refused TEXT ARGUMENT...
  expect_exit 2 sten "${@:2}"
  [ "$(cat err)" = "sten: $1" ] || fail "sten ${*:2}: expected '$1'"
  [ ! -s out ] || fail "sten ${*:2} printed to standard output"
}
refused 'missing command (sten --help lists the commands)'
refused "unknown command 'prun', did you mean 'prune'? (sten --help lists the commands)" prun
refused "unknown command 'hlep', did you mean 'help'? (sten --help lists the commands)" hlep
refused "unknown command 'sten-prune' (sten --help lists the commands)" sten-prune
refused "unknown command '../prune' (sten --help lists the commands)" help ../prune
refused "unknown command '' (sten --help lists the commands)" ''
refused "unexpected argument 'convert'" help prune convert
refused "unknown option '--hlep', did you mean '--help'?" --hlep
status=0
sten --help >/dev/full 2>err || status=$?
[ "$status" = 1 ] || fail "sten --help to a full disk: expected exit code 1, got $status"
expect_err 'sten: standard output: No space left on device'

# The manual pages of sten and its programs refer to each other.
page=$STEN_BIN/../share/man/man1/sten.1
for program in $PROGRAMS; do
  grep -qF "\\fBsten\\-${program#sten-}\\fR(1)" "$page" || fail "sten.1 does not refer to $program"
  grep -qF '\fBsten\fR(1)' "$STEN_BIN/../share/man/man1/$program.1" || fail "$program.1 does not refer to sten"
done
