#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scripts/checks/messages.py finds exactly the error messages that break the rules.
set -euo pipefail
check=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/scripts/checks/messages.py
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree"/{apps,libsten,kernels}
cat >"$tree/libsten/good.cpp" <<'TEXT'
// fail("it is no text of the program");
int n = 1'000;
char c = '"';
void f() {
  fail("{}: expected one file, got {} (did you write 'it'?)", name, R"(a "file")");
  fail_usage("--axis must be 0 or 1, got {}", axis);
  reader.fail("is empty");  // after the name of a field
  warn("{}: unknown key \"it\"", name);
  throw Error(Fault::input, fmt::format("{}: out of memory", name));
  log("it is a text of another function");
}
TEXT
python3 "$check" "$tree" || { echo "messages.py rejects a valid tree" && exit 1; }
[[ $(python3 "$check" --list "$tree" | wc -l) == 5 ]] || { echo "wrong message count" && exit 1; }

bad() { # REASON CALL
  printf '\n%s\n' "$2" >"$tree/apps/bad.cpp"
  if found=$(python3 "$check" "$tree"); then echo "messages.py accepts $2" && exit 1; fi
  [[ $found == "apps/bad.cpp:2: "*" ($1)"* ]] || { echo "$2: unexpected output: $found" && exit 1; }
}
bad '"is no"' 'fail("p is {}, which "
                    "is no probability", p);'
bad '"is no"' 'fail_usage("{}: there are no rows", name);'
bad '"it"' 'warn("{}: the run failed; remove it", name);'
bad '"it"' 'throw Error(Fault::usage, fmt::format("{}: is it truncated?", name));'
bad 'begins with a pronoun' 'fail("its weight has {} axes", n);'
bad 'begins with a pronoun' 'reader.fail("what is given is {}");'
bad 'begins with a verb' 'fail(
    "is not a list");'
