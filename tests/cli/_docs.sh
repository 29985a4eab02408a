# SPDX-License-Identifier: Apache-2.0
# Runs the commands of a page's sh blocks, in a directory of their own with recipes/ in it.

# run_commands PAGE LEAST: each of them works, one after the other, and there are at least so many.
run_commands() {
  mkdir "$T/here"
  cd "$T/here"
  ln -s "$STEN_SOURCE/recipes" recipes
  sed -n '/^```sh$/,/^```$/{//!p}' "$STEN_SOURCE/$1" >"$T/commands"
  [ "$(wc -l <"$T/commands")" -ge "$2" ] || fail "$1 has few commands"
  while read -r command; do
    expect_exit 0 bash -o pipefail -c "$command" </dev/null
  done <"$T/commands"
}
