#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sten_tests loads and tests each library of dense products whose package (scripts/setup.sh) is
# installed. Without this check, a build that misses a library would pass all tests, slowly.
set -eu
tested=$(unset STEN_ISA && "$STEN_BIN/sten_tests" --no-intro --test-case='every dense library agrees*' |
  sed -n 's/.*tested: //p')
status=77 # skipped, unless a package is installed
for pair in libdnnl-dev:oneDNN libopenblas-dev:OpenBLAS; do
  case $(dpkg-query -W -f '${db:Status-Status}' "${pair%:*}" 2>/dev/null || true) in
    installed) ;;
    *) continue ;;
  esac
  [ $status != 77 ] || status=0
  if ! echo "$tested" | grep -q "^${pair#*:} "; then
    echo "${pair%:*} is installed, but only these were loaded and tested:" $tested >&2
    status=1
  fi
done
echo "tested:" $tested
exit $status
