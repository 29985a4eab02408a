# SPDX-License-Identifier: Apache-2.0
# Kills a program with SIGKILL while it works. After _lib.sh:
#   . "$(dirname "$0")/_kill.sh"
# The test defines at_work COMMAND..., which is true after the program has written its first output.
# It must not fork, because a fast program would finish before the check.
kills=0 middle=0 rest=0
mkfifo "$T/never"
exec 9<>"$T/never"
pause() { read -r -t "$1" -u 9 || true; } # SECONDS: sleep without a process

# started COMMAND...: in the background as $child, which is at work or has ended.
started() {
  "$@" >"$T/child.out" 2>&1 &
  child=$!
  until at_work || ! kill -0 $child 2>/dev/null; do pause 0.001; done
}
# watch COMMAND...: to its end; $rest is how long it was at work, in microseconds.
watch() {
  started "$@"
  local begin=${EPOCHREALTIME/./}
  wait $child || fail "'$*' ended with $?: $(cat "$T/child.out")"
  rest=$((${EPOCHREALTIME/./} - begin))
}
# kill_at I N COMMAND...: at the I-th of N moments that are spread over the time it is at work.
kill_at() {
  local state='' micros=$((rest * (2 * $1 - 1) / (2 * $2)))
  started "${@:3}"
  printf -v micros '%d.%06d' $((micros / 1000000)) $((micros % 1000000))
  pause $micros
  kill -STOP $child 2>/dev/null || true
  # What stands still does not end between the look and the kill.
  for _ in $(seq 1000); do
    read -r _ _ state _ 2>/dev/null </proc/$child/stat || state=
    case $state in '' | T | Z) break ;; esac
    pause 0.001
  done
  kills=$((kills + 1))
  if [ "$state" = T ] && at_work; then
    middle=$((middle + 1))
  else
    rest=$((rest / 2)) # it was faster than the one that was watched
  fi
  kill -9 $child 2>/dev/null || true
  wait $child 2>/dev/null || true
}
# Kills before and after the work say nothing.
enough_kills() {
  echo "$middle of $kills kills came in the middle"
  [ $((2 * middle)) -ge $kills ] || fail "only $middle of $kills kills came in the middle"
}
