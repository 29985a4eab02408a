#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages that are missing for a build, or for a build and its tests.
#   scripts/setup.sh [build|test]
set -euo pipefail

build=(g++ cmake ninja-build libfmt-dev nlohmann-json3-dev libcli11-dev libre2-dev libutf8proc-dev libxxhash-dev libdnnl-dev libopenblas-dev
       libpng-dev libjpeg62-turbo-dev time)
test=(doctest-dev libonnx-testdata libxsmm-dev libopenmpi-dev openmpi-bin clang-14 libclang-rt-14-dev clang-format-14 pkg-config make python3 python3-dev python3-venv python3-yaml git)
case ${1-build} in
  build) wanted=("${build[@]}") ;;
  test) wanted=("${build[@]}" "${test[@]}") ;;
  measure) wanted=(time) ;; # quickstart.sh measures the installation itself
  *)
    echo "usage: scripts/setup.sh [build|test]" >&2
    exit 2
    ;;
esac

installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${wanted[@]}" 2>/dev/null || true)
missing=()
for package in "${wanted[@]}"; do
  grep -qxF "installed $package" <<<"$installed" && continue
  case $package in # a Python that is not from Debian also works, with its headers; venv needs ensurepip
    python3) command -v python3 >/dev/null && continue ;;
    python3-dev) python3 -c 'import os, sysconfig; os.stat(sysconfig.get_path("include") + "/Python.h")' 2>/dev/null && continue ;;
    python3-venv) python3 -c 'import venv, ensurepip' 2>/dev/null && continue ;;
  esac
  missing+=("$package")
done
[[ ${#missing[@]} -gt 0 ]] || exit 0

if [[ $EUID -eq 0 ]]; then
  root=(env)
elif sudo -n true 2>/dev/null; then
  root=(sudo -n env)
else
  root=()
fi
if [[ ${#root[@]} -eq 0 ]] || ! command -v apt-get >/dev/null; then
  {
    echo "setup: missing, and not installable from here (no root, or no apt-get). Run:"
    echo "  sudo apt-get install --no-install-recommends ${missing[*]}"
  } >&2
  exit 1
fi

echo "setup: installing ${missing[*]}"
apt=("${root[@]}" DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300)
"${apt[@]}" update
# Even with -qq, dpkg prints lines for every package, which matter only if the installation fails.
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! "${apt[@]}" -y --no-install-recommends install "${missing[@]}" >"$log" 2>&1; then
  cat "$log" >&2
  echo "setup: apt-get could not install ${missing[*]}" >&2
  exit 1
fi
