# SPDX-License-Identifier: Apache-2.0
# The pages show the code that is tested here, and the code is as short as the pages say.
set -eu
cd "$(dirname "$0")/../.."

# same DOC CODE: the C++ blocks of the page, separated by blank lines, are the whole file except for
# the licence line.
same() {
  doc=$1 code=$2
  awk '/^```cpp$/ { if (n++) print ""; inside = 1; next } /^```$/ { inside = 0 } inside' $doc |
    diff -u <(grep -v "^// SPDX-" $code) - || { echo "$doc: differs from $code"; exit 1; }
}

# at_most LINES FIRST_LINE: the block of the last page that starts with FIRST_LINE has at most LINES
# lines, including comments, blank lines and registration.
at_most() {
  lines=$(awk -v first="$2" '
    /^```cpp$/ { n = 0; found = 0; inside = 1; next }
    /^```$/ { if (inside && found) print n; inside = 0 }
    inside { if (!n++ && $0 == first) found = 1 }' $doc)
  [ -n "$lines" ] || { echo "$doc: no code block starts with '$2'"; exit 1; }
  [ "$lines" -le "$1" ] || { echo "$doc: '$2' has $lines lines, more than $1"; exit 1; }
  echo "$2: $lines lines"
}
same docs/extending.md tests/extend/extension.cpp
at_most 25 '// Band matrices: all kept elements are at most k columns from the diagonal.'
at_most 17 "// Keeps values of at least a given share of the largest magnitude in their row."
same docs/operators.md tests/extend/operators.cpp
at_most 20 '// (x + sqrt(x^2 + b)) / 2, a smooth relu (Barron 2021).'
at_most 36 '// a * sigmoid(b): a gated linear unit (Dauphin et al. 2017).'
at_most 16 '// For a csr a: computes its stored positions only, and returns them as csr.'
at_most 16 '// Divides each row of x by its length, and saves the length for the gradient.'

# The table of listings gives their numbers of lines without comments.
awk '/^\/\/ Listing: / { name = substr($0, 13); n = 0 } name && !NF { print name "|" n; name = "" } name && !/^ *\/\// { n++ }' \
  tests/extend/grouped_nm.cpp | while IFS='|' read -r name lines; do
    grep -qE "^\| $name \| [0-9]* ?\| $lines \|$" docs/extending.md ||
      { echo "docs/extending.md: the table lacks $name with $lines lines"; exit 1; }
  done

same docs/library.md tests/install/consumer/library.cpp

# The code blocks of docs/model.md are excerpts of model.cpp.
awk 'NR == FNR { code = code $0 "\n"; next }
  /^```cpp$/ { piece = ""; inside = 1; next }
  /^```$/ { if (inside && !index(code, piece)) { print FILENAME ": not in the code:\n" piece; bad = 1 } inside = 0 }
  inside { piece = piece $0 "\n"; n++ }
  END { exit bad || !n }' tests/extend/model.cpp docs/model.md
