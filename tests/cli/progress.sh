# SPDX-License-Identifier: Apache-2.0
# Progress is printed to standard error if it is a terminal, and only then.
. "$(dirname "$0")/_lib.sh"

cd "$T"
prune() { sten-prune "$MODEL" --dry-run --sparsity 0.9 --summary "$@"; }

expect_exit 0 prune --progress always
bar='sten-prune \[[= ]*\] .* %  .*B/s  .* s left'
grep -q "$bar" err || fail '--progress always shows no bar'
grep -q "$bar" out && fail 'the bar is on standard output'
# It is wiped away before the next line.
grep -q "$(printf '\r\033\[K')sten-prune: [0-9.]* s, peak memory" err || fail 'the bar stays behind'
cp out wanted
for quiet in '' '--progress auto' '--progress never'; do
  expect_exit 0 prune $quiet
  grep -q "$bar" err && fail "'$quiet' shows a bar to nobody"
  cmp out wanted || fail "'$quiet' changes the table"
done
# -q leaves nothing, whatever else is asked for.
expect_exit 0 prune -q --progress always
[ ! -s err ] || fail '-q prints to standard error'
if command -v script >/dev/null; then
  script -qec "sten-prune '$MODEL' --dry-run --sparsity 0.9 --summary >/dev/null" /dev/null \
    </dev/null >out 2>&1
  grep -q "$bar" out || fail 'a terminal shows no bar'
  script -qec "sten-prune '$MODEL' --dry-run --sparsity 0.9 --progress never >/dev/null" /dev/null \
    </dev/null >out 2>&1
  grep -q "$bar" out && fail '--progress never shows a bar on a terminal'
fi
true
