# SPDX-License-Identifier: Apache-2.0
# A run that is killed at any moment leaves no output, the whole old output, or the whole new one.
# STEN_CRASHES: number of tries (default 8).
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_safetensors.sh"
. "$(dirname "$0")/_sharded.sh"
. "$(dirname "$0")/_kill.sh"

make_sharded "$T/in"
at_work() { compgen -G "$T/.*.sten-*" >/dev/null; }
prune() { echo sten-prune "$T/in" -o "$1" --sparsity 0.9 --to csr -q --force; }
watch $(prune "$T/new")
expect_exit 0 sten-prune "$T/in" -o "$T/old" --sparsity 0.1 -q

same() { diff -rq "$1" "$2" >"$T/diff" 2>&1; }
n=${STEN_CRASHES:-8} absent=0 old=0 new=0
for i in $(seq "$n"); do
  # Every second run replaces an old directory.
  rm -rf "$T/target" "$T"/.target.sten-*
  if [ $((i % 2)) = 0 ]; then cp -r "$T/old" "$T/target"; fi
  kill_at $i $n $(prune "$T/target")
  if [ ! -e "$T/target" ]; then
    [ $((i % 2)) = 1 ] || fail "kill $i: neither the old nor the new directory exists"
    absent=$((absent + 1))
  elif same "$T/target" "$T/new"; then
    new=$((new + 1))
  elif [ $((i % 2)) = 0 ] && same "$T/target" "$T/old"; then
    old=$((old + 1))
  else
    cat "$T/diff" >&2
    fail "kill $i: the directory is neither the old nor the new one"
  fi
done
echo "$n kills: $absent absent, $old old, $new new"
enough_kills
held 71 expect_exit 0 $(prune "$T/target")
same "$T/target" "$T/new" || fail "the run after the kills wrote a different directory"
[ -z "$(find "$T" -name '.target.sten-*')" ] || fail "hidden directories were left"
