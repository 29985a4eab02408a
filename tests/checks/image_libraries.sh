#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sten_tests reads the image formats whose packages (scripts/setup.sh) are installed. Without this
# check, a build that misses a format would pass all tests.
set -eu
read=$("$STEN_BIN/sten_tests" --no-intro --test-case='every image library reads' | sed -n 's/^read://p')
status=77 # skipped, unless a package is installed
for pair in libpng-dev:PNG libjpeg62-turbo-dev:JPEG; do
  case $(dpkg-query -W -f '${db:Status-Status}' "${pair%:*}" 2>/dev/null || true) in
    installed) ;;
    *) continue ;;
  esac
  [ $status != 77 ] || status=0
  case "$read " in
    *" ${pair#*:} "*) ;;
    *) echo "${pair%:*} is installed, but only these formats were read:$read" >&2 && status=1 ;;
  esac
done
echo "read:$read"
exit $status
