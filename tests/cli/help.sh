# SPDX-License-Identifier: Apache-2.0
# --help, --help-all and --version print to standard output, with exit code 0.
. "$(dirname "$0")/_lib.sh"

for program in $PROGRAMS; do
  expect_exit 0 $program --help
  [ ! -s "$T/err" ] || fail "$program --help prints to standard error"
  golden help_${program#sten-}
  # The common options come first, each option is in a named group, and at least three examples
  # follow.
  [ "$(grep -n '^[A-Z].*:$' "$T/out" | sed -n 2p | cut -d: -f2)" = 'Common options' ] ||
    fail "$program --help does not start with the common options"
  ! grep -qx 'Options:' "$T/out" || fail "$program --help has options without a group"
  [ "$(sed -n '/^Examples:/,$p' "$T/out" | grep -c "^  .*$program ")" -ge 3 ] ||
    fail "$program --help has fewer than three examples"
  cp "$T/out" "$T/help"
  [ "$(wc -l <"$T/help")" -le 100 ] || fail "$program --help has more than 100 lines"
  [ "$(tail -n 1 "$T/help")" = "$program --help-all prints every option with its details." ] ||
    fail "$program --help does not end with --help-all"
  # --help-all has the options of --help and more, each with the same first line.
  expect_exit 0 $program --help-all
  grep -E '^  -' "$T/help" | sort >"$T/short"
  grep -E '^  -' "$T/out" | sort >"$T/all"
  [ -z "$(comm -23 "$T/short" "$T/all")" ] || fail "$program --help-all lacks options of --help"
  # --help has every option that README uses.
  for flag in $(sed -e ':a' -e '/\\$/{N;s/\\\n//;ba' -e '}' -e "s/'[^']*'//g" "$STEN_SOURCE/README.md" | grep -oE "$program [^|\`]*" |
    grep -oE -- ' --?[a-z][a-z-]*' | sort -u); do
    grep -qE -- "^  (-[a-z], )?$flag\b" "$T/help" || fail "README uses $flag; $program --help lacks the option"
  done
  # --help overrides other arguments, and -h is its short form.
  expect_exit 0 $program missing.safetensors --help
  cmp "$T/out" "$T/help" || fail "$program missing.safetensors --help differs from --help"
  expect_exit 0 $program -h
  cmp "$T/out" "$T/help" || fail "$program -h differs from --help"

  # Output that cannot be written is an error.
  for flag in --help --version; do
    status=0
    $program $flag >/dev/full 2>"$T/err" || status=$?
    [ "$status" = 1 ] || fail "$program $flag to a full disk ended with $status, not 1"
    expect_err "$program: standard output: No space left on device"
  done

  expect_exit 0 $program --version
  grep -qxE "$program [0-9]+\.[0-9]+\.[0-9]+" "$T/out" ||
    fail "$program --version does not print the program's name and a version X.Y.Z"
done
