#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# page.py finds errors in the output that a page shows, and accepts parts that can vary.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
page=$work/page.md
shows() { # shows CODE: page.py exits with CODE on the page from standard input
  cat >"$page"
  status=0
  sh "$(dirname "$0")/run.sh" "$page" >"$work/out" || status=$?
  [ $status = "$1" ] || {
    cat "$work/out"
    echo "page.py: expected exit code $1, got $status"
    exit 1
  }
}
shows 0 <<'EOT'
$ echo this is no block
wrong
```
$ printf 'a   1\nb 2\nc\n'; echo aside >&2; echo shown >&2
a 1
...
c
shown
$ echo a \
      b
a b
$ v=5
$ echo $v
5
$ echo anything
$ echo 'in other layouts: csr 2 kB, newer 1 kB'
in other layouts: csr 2 kB
$ echo "layers.0.weight 128x64 dense 8192 819 90.00 % 0.1234" # sten-train
layers.0.weight 128x64 dense 8192 819 90.00 % 0.9999
```
```
$ sten-energy MODEL --summary
...
25 of 74 tensors; the file has 5.19 MB
...
sten-energy: 9.99 s, peak memory 1.00 MB
$ echo why >&2; false
why
```
EOT
# Each of these outputs is wrong.
shows 1 <<'EOT'
```
$ echo a 1
a 2
$ echo a; echo b
a
$ echo a
a
b
$ echo a
...
c
$ echo a
a
not on standard error
$ echo "layers.0.weight 128x64 dense 8192 819 90.00 % 0.1234" # sten-train
layers.0.weight 128x64 dense 8192 818 90.00 % 0.1234
$ echo a; false
a
```
EOT
for line in 2 4 6 9 12 15 17; do
  grep -q "page.md:$line: [$] echo" "$work/out" || {
    echo "page.py accepts the wrong output of line $line"
    exit 1
  }
done
