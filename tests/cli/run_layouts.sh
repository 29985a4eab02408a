# SPDX-License-Identifier: Apache-2.0
# sten-run --layouts auto measures layouts once and caches the times; a damaged cache is ignored.
. "$(dirname "$0")/_lib.sh"
cd "$T"
sten-train "$STEN_SOURCE/recipes/digits-mlp-one-shot.json" --out run -q --threads 1 --set sparsity.0.save=csr
auto() { sten-run run --layouts auto --json "$@"; }
# times SOURCE: every weight's times are from there.
times() {
  grep -q '"times": ' "$T/out" || fail 'nothing is said of the layouts'
  if grep '"times": ' "$T/out" | grep -qv "\"$1\""; then fail "not all times are '$1'"; fi
}
cache=$STEN_CACHE/layouts.json

# Measured once; then what is in the cache decides, whatever it is.
expect_exit 0 auto --threads 1
times measured
expect_out '"csr": '
expect_out '"dense": '
expect_out 'weights were measured'
grep -q '"sten_cache": 1' "$cache" || fail 'there is no cache'
expect_exit 0 auto --threads 1
times cache
expect_out 'times of the others are from'
for layout in csr dense; do
  other=$(echo csrdense | sed "s/$layout//")
  sed -E "s/\"$layout\": [^,]*/\"$layout\": 1e-9/; s/\"$other\": [^,]*/\"$other\": 1/" "$cache" >changed
  mv changed "$cache"
  expect_exit 0 auto --threads 1
  times cache
  expect_out "\"layout\": \"$layout\""
  expect_exit 0 sten-run run --layouts auto --explain --threads 1
  expect_out 'from the cache'
done
# A rule that came before is kept, and its weight not looked at.
expect_exit 0 auto --threads 1 --layouts 'layers.0.weight=masked'
expect_out '1 in masked'
grep -q '"layers.0.weight": {' out && fail 'a weight with a rule of its own is measured'

# Other threads, another ISA, another number of rows: other times, beside those.
expect_exit 0 auto --threads 2
times measured
expect_exit 0 env STEN_ISA=reference sten-run run --layouts auto --json --threads 1
times measured
expect_exit 0 auto --threads 1 --batch 7
times measured
expect_exit 0 auto --threads 1 --precision bf16
times measured
for others in '--threads 1' '--threads 2' '--threads 1 --batch 7' '--threads 1 --precision bf16'; do
  expect_exit 0 auto $others
  times cache
done

# A cache in a damaged form is replaced; both end in a note.
for text in '{"schema": 2, "seconds": {}}' '{"schema": 1, "seconds": {"a": {"b": {"csr": -1}}}}' \
  '{"schema": 1, "seconds": {"a": 3}}' '{"sten_cache": 1}'; do
  printf '%s' "$text" >"$cache"
  expect_exit 0 auto --threads 1
  times measured
  held 127 expect_out 'the cache is not used: '
  [ ! -s "$T/err" ] || grep -q 'peak memory' "$T/err" || fail 'a bad cache is more than a note'
  expect_exit 0 auto --threads 1
  times cache
  grep -q 'not used' out && fail 'the cache was not replaced'
done
# Anything else under its name is neither read nor replaced, also behind a link.
stays() { # stays REASON
  expect_exit 0 auto --threads 1
  held 127 expect_out "layouts are measured each time: $1"
  [ "$(grep -c 'measured each time' out)" = 1 ] || fail 'more than a line about the cache'
  times measured
}
for text in '' '{' '[]' '{"notes": "mine"}'; do
  printf '%s' "$text" >"$cache"
  stays "$cache: expected a cache of sten, got a file without"
  [ "$(cat "$cache")" = "$text" ] || fail 'a file that is not a cache was replaced'
done
mkdir -p deep/er/mine
for text in '{"notes": "mine"}' '{"schema": 1, "seconds": {}}'; do
  printf '%s' "$text" >deep/er/mine/plan.json
  ln -sf "$T/deep/er/mine/plan.json" "$cache"
  stays "$cache: expected a cache of sten, got a symbolic link"
  [ "$(cat deep/er/mine/plan.json)" = "$text" ] || fail 'the target of a link was replaced'
  [ -L "$cache" ] || fail 'the link was replaced'
done
rm "$cache"
for make in mkdir mkfifo; do
  $make "$cache"
  stays "$cache: expected a cache of sten, got a "
  rm -r "$cache"
done
chmod o+w "$STEN_CACHE"
stays "$STEN_CACHE: expected a directory that others cannot write to, got mode "
[ ! -e "$cache" ] || fail 'a cache was created where everyone can write'
chmod o-w "$STEN_CACHE"

# Where it is; and where nothing can be written.
expect_exit 0 env -u STEN_CACHE XDG_CACHE_HOME="$T/xdg" sten-run run --layouts auto
[ -s xdg/sten/layouts.json ] || fail 'XDG_CACHE_HOME is not heeded'
expect_exit 0 env -u STEN_CACHE XDG_CACHE_HOME=relative HOME="$T/home" sten-run run --layouts auto
[ -s home/.cache/sten/layouts.json ] || fail 'the cache is not below HOME'
[ ! -e relative ] || fail 'a relative XDG_CACHE_HOME is used'
expect_exit 0 env -u STEN_CACHE -u XDG_CACHE_HOME -u HOME sten-run run --layouts auto --json
expect_out 'no variable says where the cache is'
: >file
for _ in 1 2; do
  expect_exit 0 env STEN_CACHE="$T/file/cache" sten-run run --layouts auto --json
  held 127 expect_out 'layouts are measured each time: '
  times measured
done

# Several at once: the file is whole, and nothing is left beside it.
mkdir "$STEN_CACHE/several"
for batch in 1 2 3 4; do
  STEN_CACHE=$STEN_CACHE/several sten-run run --layouts auto --threads 1 --batch $batch -q >/dev/null &
done
wait
[ "$(ls -A "$STEN_CACHE/several")" = layouts.json ] || fail 'a temporary file was left'
last=$(STEN_CACHE=$STEN_CACHE/several sten-run run --layouts auto --threads 1 --json -q)
case $last in *'not used'*) fail 'the file is broken' ;; esac

# --explain: each batch runs once more at most, and the steps are those of all of them.
expect_exit 0 sten-run run --explain --batch 100 --json
expect_out '"batches": 4'
expect_out 'the sums of 4 batches'
expect_exit 0 sten-run run --explain --batch 360
expect_out 'of one batch'

# The bar that other programs have, over batches.
expect_exit 0 sten-run run --batch 10 --progress always
grep -q 'sten-run \[[= ]*\] .* %  .* batches/s  .* s left' err || fail '--progress always shows no bar'
expect_exit 0 sten-run run --batch 10
grep -q 'batches/s' err && fail 'a bar is shown to nobody'
true
