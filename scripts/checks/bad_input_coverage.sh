#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# docs/bad_input.md lists every case from 1 to 164 once, in order, and the test of each case has run and
# recorded that the case passed; a case without a test says why instead.
#   scripts/checks/bad_input_coverage.sh RECORDS     folder in which tests record cases that passed
set -eu
records=$(cd "$1" && pwd)
cd "$(dirname "$0")/../.."
table=docs/bad_input.md
want=1 bad=0
say() { echo "$table: case $number: $1" && bad=1; }
while IFS='|' read -r _ number what file _; do
  number=$(echo $number)
  case $number in [0-9]*) ;; *) continue ;; esac
  file=$(echo $file)
  [ "$number" = $want ] || { say "comes where case $want should" && want=$number; }
  want=$((want + 1))
  case $file in
    none:?*) ;;
    tests/?*)
      [ -e "$file" ] || say "$file is missing"
      cat "$records"/* | grep -qxF -e "$number $file" || say "$file did not run it, or the case failed"
      ;;
    *) say "names no test" ;;
  esac
done <$table
[ $want = 165 ] || { echo "$table: ends before case $want" && bad=1; }
exit $bad
