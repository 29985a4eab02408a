#!/bin/sh
# docs/bad_input.md has every case 1 to 95 once, in order, and each test it names has the text it
# names. A case without a test says why instead.
set -eu
cd "$(dirname "$0")/../.."
table=docs/bad_input.md
want=1 bad=0
while IFS='|' read -r _ number _ file text _; do
  number=$(echo "$number" | sed 's/^ *//; s/ *$//')
  file=$(echo "$file" | sed 's/^ *//; s/ *$//')
  text=$(printf '%s\n' "$text" | sed 's/^ *//; s/ *$//')
  case $number in [0-9]*) ;; *) continue ;; esac
  if [ "$number" != $want ]; then
    echo "$table: case $want is missing" && bad=1
    want=$number
  fi
  want=$((want + 1))
  if [ -z "$text" ]; then
    echo "$table: case $number names no text" && bad=1
  elif [ "$file" != - ] && ! grep -qF -e "$text" "$file"; then
    echo "$table: case $number: $file lacks '$text'" && bad=1
  fi
done <$table
[ $want = 96 ] || { echo "$table: ends before case $want" && bad=1; }
exit $bad
