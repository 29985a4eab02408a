# --help and --version say what a program does, on standard output, with exit code 0.
. "$(dirname "$0")/_lib.sh"

for program in sten-prune sten-convert sten-energy sten-bench sten-train; do
  expect_exit 0 $program --help
  [ ! -s "$T/err" ] || fail "$program --help prints to standard error"
  golden help_${program#sten-}
  cp "$T/out" "$T/help"
  # Whatever else is asked for, and the short form.
  expect_exit 0 $program missing.safetensors --help
  cmp "$T/out" "$T/help" || fail "$program missing --help differs"
  expect_exit 0 $program -h
  cmp "$T/out" "$T/help" || fail "$program -h differs from --help"

  # A result that does not get through is none.
  for flag in --help --version; do
    status=0
    $program $flag >/dev/full 2>"$T/err" || status=$?
    [ "$status" = 1 ] || fail "$program $flag to a full disk ended with $status"
    expect_err "$program: standard output: No space left on device"
  done

  expect_exit 0 $program --version
  grep -qxE "$program [0-9]+\.[0-9]+\.[0-9]+" "$T/out" || fail "$program --version has another form"
done
