# SPDX-License-Identifier: Apache-2.0
# Common part of the package tests: bare Debian systems in folders. The tests need root, debootstrap and
# a Debian mirror, and take minutes, so they are not part of ctest.
#   STEN_ROOTS   folder in which the bare systems stay for the next run (default: they are removed)
set -euo pipefail
[[ $EUID -eq 0 ]] || { echo "$0: needs root" >&2; exit 1; }
command -v debootstrap >/dev/null || { echo "$0: debootstrap is missing" >&2; exit 1; }
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
roots=${STEN_ROOTS:-$work/bare}
model=$source/recipes/models/shakespeare-bert

# new_root SUITE: sets $root to a new bare system, with the mirror of this machine.
new_root() {
  local bare=$roots/$1 mirror
  if [[ ! -e $bare/etc/debian_version ]]; then
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | head -n 1)
    mkdir -p "$roots"
    debootstrap --variant=minbase "$1" "$bare" "$mirror" >"$work/log" || { tail "$work/log"; exit 1; }
  fi
  root=$work/$1
  rm -rf "$root"
  cp -a "$bare" "$root"
  cp /etc/resolv.conf "$root/etc/"
  cp -a "$source/recipes/models/shakespeare-bert" "$root/root/model"
}

# in_root COMMAND...: runs COMMAND in /root of $root, without the variables of this shell. /proc is
# mounted only while COMMAND runs.
in_root() {
  unshare --mount bash -c 'mount -t proc proc "$1/proc" && shift && exec chroot "$@"' _ "$root" "$root" \
    env -i HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive PATH="${root_path:-/usr/sbin:/usr/bin:/sbin:/bin}" \
    sh -euc 'cd /root; exec "$@"' _ "$@"
}

# use_package_index: makes pip in $root use the package index of this machine. Must be called after
# ca-certificates is installed, which writes the certificate file.
use_package_index() {
  local file
  for file in /etc/pip.conf "${PIP_CERT:-/etc/ssl/certs/ca-certificates.crt}"; do
    [[ ! -e $file ]] || install -D -m 644 "$file" "$root$file"
  done
}

fail() { echo "$(basename "$0"): $1" >&2; exit 1; }
expect() { # expect REGEX COMMAND...: COMMAND in $root prints a match of REGEX
  local wanted=$1 got
  shift
  got=$(in_root "$@" 2>&1) || fail "$* failed: $got"
  [[ $got =~ ^$wanted$ ]] || fail "$*: expected '$wanted', got '$got'"
}

# The first commands of README, with the programs of the root.
first_commands() {
  local version=$1 line
  in_root rm -rf pruned small
  expect "sten $version" sten --version
  for line in prune convert energy bench train run; do expect "sten-$line $version" sten $line --version; done
  expect '.*total +1254400 +125440 +90.00 % .*' sten-prune model -o pruned --sparsity 0.9 --summary
  expect '.*bitmask.*' sten convert pruned -o small --to bitmask
  expect '.*90.00 %.*' sten energy small --against model --min-energy 0.25 --min-sparsity 0.89
  # Without a library for dense products, a slow loop would be used.
  for line in oneDNN OpenBLAS; do
    expect ".*\"library\": \"$line.*" sten-bench gemm --shape 64x64x64 --layouts csr --repeats 1 --json
  done
  expect '.*To be, or not to be.*' sten-run model --fill 'To be, or n[MASK]t to be'
  expect ".*unknown command 'prun', did you mean 'prune'.*" sh -c 'sten prun || true'
}
