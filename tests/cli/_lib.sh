# SPDX-License-Identifier: Apache-2.0
# Common part of the tests in this folder. A test starts with
#   . "$(dirname "$0")/_lib.sh"
# and runs under ctest, or by hand: bash tests/cli/prune_nmg.sh
# It provides the programs on PATH, and their names in $PROGRAMS; $MODEL, the shipped checkpoint;
# $T, a directory that is removed at the end; and the output of the last command in $T/out and $T/err.
set -eu

NAME=$(basename "$0" .sh)
: "${STEN_SOURCE:=$(cd "$(dirname "$0")/../.." && pwd)}"
: "${STEN_BIN:=$STEN_SOURCE/build/bin}"
MODEL=$STEN_SOURCE/recipes/models/shakespeare-bert/model.safetensors
PATH=$STEN_BIN:$PATH
PROGRAMS=$(sed -n 's/^set(STEN_PROGRAMS \(sten-.*\))$/\1/p' "$STEN_SOURCE/apps/CMakeLists.txt")
# What a user may have set and a golden text must not show.
LC_ALL=C.UTF-8
NO_COLOR=1
export STEN_SOURCE STEN_BIN PATH LC_ALL NO_COLOR
unset STEN_STRICT COLUMNS

T=$(mktemp -d)
# What programs keep from run to run is each test's own.
STEN_CACHE=$T/cache
export T STEN_CACHE
# The last words of a test that a plain command ended through set -e.
finish() {
  status=$?
  rm -rf "$T"
  case $status in
    0 | 77) ;; # passed, skipped
    *) echo "$NAME: failed (exit code $status)" >&2 ;;
  esac
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

fail() {
  {
    echo "$NAME: $1"
    echo "--- stdout"
    cat "$T/out"
    echo "--- stderr"
    cat "$T/err"
  } >&2
  exit 1
}

# expect_exit CODE COMMAND...
expect_exit() {
  expected=$1
  shift
  status=0
  "$@" >"$T/out" 2>"$T/err" || status=$?
  [ "$status" = "$expected" ] || fail "'$*' ended with $status, not $expected"
}

# expect_out TEXT, expect_err TEXT: the last command said so there.
expect_out() { grep -qF -e "$1" "$T/out" || fail "stdout lacks '$1'"; }
expect_err() { grep -qF -e "$1" "$T/err" || fail "stderr lacks '$1'"; }

# held N COMMAND...: runs it; case N of docs/bad_input.md holds, which scripts/checks/bad_input_coverage.sh reads
# in the test's record.
[ -z "${STEN_RECORD-}" ] || : >"$STEN_RECORD"
held() {
  "${@:2}"
  [ -z "${STEN_RECORD-}" ] || echo "$1 tests/cli/$NAME.sh" >>"$STEN_RECORD"
}

# An error is one line that names the program.
expect_one_line_err() {
  [ "$(wc -l <"$T/err")" -eq 1 ] || fail "stderr is not one line"
  grep -q '^sten-[a-z]*: ' "$T/err" || fail "stderr does not begin with the program's name"
}

# golden NAME: stdout is the text in NAME.stdout beside the test, without times and folders of
# this run. STEN_UPDATE_GOLDEN=1 writes that file instead.
golden() {
  wanted=$STEN_SOURCE/tests/cli/$1.stdout
  sed -E -e "s|$T/||g" -e "s|$STEN_SOURCE/||g" \
    -e 's/(^|[^0-9.])[0-9]+(\.[0-9]+)? (s|ms|[MG]B\/s)([^A-Za-z0-9]|$)/\1TIME\4/g' \
    "$T/out" >"$T/golden"
  if [ "${STEN_UPDATE_GOLDEN-}" = 1 ]; then
    cp "$T/golden" "$wanted"
  elif ! diff -u "$wanted" "$T/golden" >&2; then
    fail "stdout differs from $1.stdout (if that is right: STEN_UPDATE_GOLDEN=1)"
  fi
}
