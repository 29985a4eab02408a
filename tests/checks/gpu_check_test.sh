#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scripts/run_test_cases.py reports the result of each case, even if several share a process, and
# runs the longest first; gpu_check.sh prints its report.
set -euo pipefail
command -v python3 >/dev/null || { echo 'skipped: python3 is missing'; exit 77; }
scripts=$(cd "$(dirname "$0")/../.." && pwd)/scripts
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
export LOG=$T/processes BREAKS='' HANGS='' TOGETHER=0
mkdir "$T/bin" "$T/path"

cat >"$T/bin/sten_tests" <<'STUB'
#!/usr/bin/env bash
all=(one "two, of a kind" three four five)
for word in "$@"; do
  case $word in
    -ltc)
      printf '%s\n' '[doctest] listing' ===== "${all[@]}" ===== '[doctest] unskipped test cases: 5'
      exit ;;
    --test-case=*) IFS=, read -ra patterns <<<"${word#*=}" ;;
  esac
done
echo "${patterns[*]}" >>"$LOG"
status=0
[[ ${#patterns[@]} -eq 1 ]] || status=$TOGETHER
for name in "${all[@]}"; do
  for pattern in "${patterns[@]}"; do
    [[ $name == $pattern ]] || continue
    if [[ $name == "$HANGS" ]]; then exec sleep 60; fi
    if [[ $name == "$BREAKS" ]]; then status=1; fi
    if [[ $status -ne 0 ]]; then echo "ERROR: $name"; fi
    echo "0.250000 s: $name"
  done
done
exit "$status"
STUB
chmod +x "$T/bin/sten_tests"

# expect STATUS ROW...: the exit code of the script, and exit code and name of each case, sorted by
# name. Runs JOBS (default 1) processes at a time.
expect() {
  local status=0 wanted=$1
  shift
  : >"$LOG"
  python3 -B "$scripts/run_test_cases.py" "$T/bin/sten_tests" '*' "${JOBS:-1}" 1 >"$T/out" || status=$?
  printf '%s\n' "$@" >"$T/wanted"
  sed -nE 's/^([0-9]+)\t[0-9.]+ s\t(.*)/\1 \2/p' "$T/out" | sort -k2 >"$T/got"
  if [[ $status -ne $wanted ]] || ! diff "$T/wanted" "$T/got"; then
    echo "run_test_cases.py: expected exit code $wanted, got $status:" >&2
    cat "$T/out" >&2
    exit 1
  fi
}
expect 0 '0 five' '0 four' '0 one' '0 three' '0 two, of a kind'
[[ $(wc -l <"$LOG") -eq 2 ]]
STEN_CASES_ALONE=1 expect 0 '0 five' '0 four' '0 one' '0 three' '0 two, of a kind'
[[ $(wc -l <"$LOG") -eq 5 ]]
printf '0\t1.0 s\tone\n0\t7.5 s\ttwo, of a kind\n' >"$T/times"
STEN_CASE_TIMES=$T/times expect 0 '0 five' '0 four' '0 one' '0 three' '0 two, of a kind'
[[ $(head -n 1 "$LOG") == 'two? of a kind' ]]
BREAKS=three expect 1 '0 five' '0 four' '0 one' '1 three' '0 two, of a kind'
[[ $(grep -c ERROR "$T/out") -eq 1 ]]
JOBS=2 HANGS=five expect 1 '124 five' '0 four' '0 one' '0 three' '0 two, of a kind'
TOGETHER=3 expect 1 '0 five' '0 four' '0 one' '0 three' '0 two, of a kind' '3 two, of a kind + three + four + five'

# A device and all programs, as stubs that do nothing.
for stub in bin/sten-prune bin/sten-train bin/sten-bench path/nvidia-smi path/compute-sanitizer; do
  printf '#!/bin/sh\n' >"$T/$stub"
  chmod +x "$T/$stub"
done
echo 'echo GPU 0' >>"$T/path/nvidia-smi"
echo 'while [ "${1#*sten_tests}" = "$1" ]; do shift; done; exec "$@"' >>"$T/path/compute-sanitizer"
status=0
BREAKS=four PATH=$T/path:$PATH bash "$scripts/gpu_check.sh" "$T/report" "$T/bin" >"$T/out" 2>&1 || status=$?
[[ $status -eq 1 ]]
for name in tests memcheck initcheck racecheck; do
  grep -A 2 "^$name: 5 cases, 4 passed but for" "$T/report/gpu_check.md" | grep -qx -- '- four'
done
