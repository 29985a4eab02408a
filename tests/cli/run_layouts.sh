# SPDX-License-Identifier: Apache-2.0
# sten-run --layouts auto measures layouts once and caches the times; a damaged cache is ignored.
. "$(dirname "$0")/_lib.sh"
cd "$T"
sten-train "$STEN_SOURCE/recipes/digits-mlp-one-shot.json" --out run -q --threads 1 --set sparsity.0.save=csr
auto() { sten-run run --layouts auto --json "$@"; }
# times SOURCE: the times of every weight come from SOURCE.
times() {
  grep -q '"times": ' "$T/out" || fail 'the output lacks the source of the times'
  if grep '"times": ' "$T/out" | grep -qv "\"$1\""; then fail "not all times are from '$1'"; fi
}
cache=$STEN_CACHE/layouts.json

# Times are measured once; then the times in the cache decide, even if they are edited.
expect_exit 0 auto --threads 1
times measured
expect_out '"csr": '
expect_out '"dense": '
expect_out 'weights were measured'
grep -q '"sten_cache": 1' "$cache" || fail 'the cache was not written'
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
# A rule for a weight takes precedence over auto, and the weight is not measured.
expect_exit 0 auto --threads 1 --layouts 'layers.0.weight=masked'
expect_out '1 in masked'
grep -q '"layers.0.weight": {' out && fail 'a weight with a rule of its own was measured'

# The cache has separate times for each number of threads, ISA, number of rows and precision.
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

# A damaged cache is replaced, and a note says so.
for text in '{"schema": 2, "seconds": {}}' '{"schema": 1, "seconds": {"a": {"b": {"csr": -1}}}}' \
  '{"schema": 1, "seconds": {"a": 3}}' '{"sten_cache": 1}'; do
  printf '%s' "$text" >"$cache"
  expect_exit 0 auto --threads 1
  times measured
  held 127 expect_out 'the cache is not used: '
  [ ! -s "$T/err" ] || grep -q 'peak memory' "$T/err" || fail 'a damaged cache caused an error'
  expect_exit 0 auto --threads 1
  times cache
  grep -q 'not used' out && fail 'the cache was not replaced'
done
# Any other file with the name of the cache is neither read nor replaced, even behind a link.
stays() { # stays REASON
  expect_exit 0 auto --threads 1
  held 127 expect_out "layouts are measured each time: $1"
  [ "$(grep -c 'measured each time' out)" = 1 ] || fail 'expected exactly one line about the cache'
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
[ ! -e "$cache" ] || fail 'a cache was created in a directory that others can write to'
chmod o-w "$STEN_CACHE"

# The location of the cache, and locations that cannot be written to.
expect_exit 0 env -u STEN_CACHE XDG_CACHE_HOME="$T/xdg" sten-run run --layouts auto
[ -s xdg/sten/layouts.json ] || fail 'the cache is not below XDG_CACHE_HOME'
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

# Concurrent runs leave a valid cache and no temporary files.
mkdir "$STEN_CACHE/several"
for batch in 1 2 3 4; do
  STEN_CACHE=$STEN_CACHE/several sten-run run --layouts auto --threads 1 --batch $batch -q >/dev/null &
done
wait
[ "$(ls -A "$STEN_CACHE/several")" = layouts.json ] || fail 'a temporary file was left'
last=$(STEN_CACHE=$STEN_CACHE/several sten-run run --layouts auto --threads 1 --json -q)
case $last in *'not used'*) fail 'concurrent runs left a damaged cache' ;; esac

# --explain runs each batch at most once more and reports sums over all batches.
expect_exit 0 sten-run run --explain --batch 100 --json
expect_out '"batches": 4'
expect_out 'the sums of 4 batches'
expect_exit 0 sten-run run --explain --batch 360
expect_out 'of one batch'

# The progress bar counts batches.
expect_exit 0 sten-run run --batch 10 --progress always
grep -q 'sten-run \[[= ]*\] .* %  .* batches/s  .* s left' err || fail '--progress always did not show a bar'
expect_exit 0 sten-run run --batch 10
grep -q 'batches/s' err && fail 'a bar is shown although stderr is not a terminal'
true
