#!/bin/sh
# Who may include whom: a file includes its own room, or rooms of lower rows. This rules out circles.
#   scripts/checks/include_layers.sh [ROOT]        prints every violation; exit 1 if there is one
set -eu
cd "${1:-$(dirname "$0")/../..}"

# From the top row to the bottom one. A header directly in libsten/ may gather everything below.
rows='
apps
libsten
libsten/bench
libsten/run
libsten/train
libsten/recipe
libsten/comm libsten/data libsten/nn libsten/onnx libsten/optim libsten/report
libsten/io
libsten/calibrate libsten/graph
libsten/ops
libsten/autograd
libsten/product
libsten/dispatch
libsten/sparsify
libsten/layout
libsten/tensor
libsten/linalg
libsten/base
kernels
'

for top in apps libsten kernels; do
  [ -d "$top" ] || { echo "layers: $PWD has no $top/" >&2; exit 1; }
done
violations=$(find apps libsten kernels -type f \
  \( -name '*.h' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' -o -name '*.inc' \) -print |
  LC_ALL=C sort | tr '\n' '\0' | ROWS="$rows" xargs -0 awk '
  BEGIN {
    lines = split(ENVIRON["ROWS"], line, "\n")
    for (i = 1; i <= lines; i++) {
      rooms = split(line[i], room, " ")
      for (j = 1; j <= rooms; j++) rank[room[j]] = -i
    }
  }
  # "libsten/layout/nmg.h" -> "libsten/layout"; apps and kernels are one room each.
  function room_of(path,    part, n) {
    n = split(path, part, "/")
    return part[1] == "libsten" && n > 2 ? part[1] "/" part[2] : part[1]
  }
  # The folder of FILE/../io/x.h and the like, without its dots.
  function tidy(path,    part, n, kept, i, out) {
    n = split(path, part, "/")
    for (i = 1; i <= n; i++) {
      if (part[i] == "..") kept--
      else if (part[i] != "." && part[i] != "") { kept++; stack[kept] = part[i] }
    }
    for (i = 1; i <= kept; i++) out = out (i > 1 ? "/" : "") stack[i]
    return out
  }
  FNR == 1 {
    from = room_of(FILENAME)
    if (!(from in rank)) print FILENAME ":1: " from " is in no row of scripts/checks/include_layers.sh"
  }
  /^[ \t]*#[ \t]*include[ \t]*["<]/ && from in rank {
    path = $0
    sub(/^[^"<]*/, "", path)
    quoted = substr(path, 1, 1) == "\""
    path = substr(path, 2)
    sub(/[">].*/, "", path)
    if (path !~ /^(apps|libsten|kernels|tests)\//) {
      if (!quoted) next
      folder = FILENAME
      sub(/[^\/]*$/, "", folder)
      path = tidy(folder path)
    }
    to = room_of(path)
    if (to == from || to !~ /^(apps|libsten|kernels|tests)/) next
    if (!(to in rank) || rank[to] >= rank[from])
      print FILENAME ":" FNR ": " from " may not include " to
  }')

if [ -n "$violations" ]; then
  echo "$violations"
  exit 1
fi
