# SPDX-License-Identifier: Apache-2.0
# The progress bar goes to standard error, by default only if that is a terminal.
. "$(dirname "$0")/_lib.sh"

cd "$T"
prune() { sten-prune "$MODEL" --dry-run --sparsity 0.9 --summary "$@"; }

expect_exit 0 prune --progress always
bar='sten-prune \[[= ]*\] .* %  .*B/s  .* s left'
grep -q "$bar" err || fail '--progress always did not show a bar'
grep -q "$bar" out && fail 'the bar is on standard output'
# The bar is erased before the next line is printed.
grep -q "$(printf '\r\033\[K')sten-prune: [0-9.]* s, peak memory" err || fail 'bar was not erased'
cp out wanted
for quiet in '' '--progress auto' '--progress never'; do
  expect_exit 0 prune $quiet
  grep -q "$bar" err && fail "a bar is shown although stderr is not a terminal (flags '$quiet')"
  cmp out wanted || fail "the table differs from that with --progress always (flags '$quiet')"
done
# -q overrides --progress always.
expect_exit 0 prune -q --progress always
[ ! -s err ] || fail '-q prints to standard error'
if command -v script >/dev/null; then
  script -qec "sten-prune '$MODEL' --dry-run --sparsity 0.9 --summary >/dev/null" /dev/null \
    </dev/null >out 2>&1
  grep -q "$bar" out || fail 'no bar is shown on a terminal'
  script -qec "sten-prune '$MODEL' --dry-run --sparsity 0.9 --progress never >/dev/null" /dev/null \
    </dev/null >out 2>&1
  grep -q "$bar" out && fail 'a bar is shown on a terminal in spite of --progress never'
fi
true
