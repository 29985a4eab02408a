# SPDX-License-Identifier: Apache-2.0
# Completion in bash, zsh and fish: every option, the values of an option, and suitable files.
. "$(dirname "$0")/_lib.sh"
scripts=$STEN_BIN/../share/bash-completion/completions

mkdir -p "$T/here/models" "$T/here/state"
cd "$T/here"
touch "$T/out" "$T/err"
touch model.safetensors w.npy notes.txt report.json page.html rules 'two words.safetensors'

# complete_line PROGRAM WORD...: the proposals for the last word, sorted, in one line. Words are
# split as in bash: '=' and ':' are separate words.
complete_line() {
  COMP_WORDS=("$@")
  COMP_CWORD=$(($# - 1))
  COMPREPLY=()
  "_${1/-/_}"
  printf '%s\n' "${COMPREPLY[@]}" | LC_ALL=C sort | tr '\n' '|' | sed 's/|$//'
}
expect() { # expect PROPOSALS PROGRAM WORD...
  local wanted=$1 got
  shift
  got=$(complete_line "$@")
  [ "$got" = "$wanted" ] || fail "completion of '$*': expected '$wanted', got '$got'"
}

for program in $PROGRAMS; do
  bash -n "$scripts/$program" || fail "the completion of $program is not valid bash"
  if command -v shellcheck >/dev/null; then
    shellcheck "$scripts/$program" >"$T/out" 2>&1 ||
      fail "shellcheck warns about the completion of $program"
  fi
  . "$scripts/$program"
  complete -p $program | grep -qF "_${program/-/_}" || fail "bash has no completion for $program"

  # The completion proposes exactly the options of --help-all.
  $program --help-all | grep -oE '^  (-[a-z], )?--[a-z-]+(, --[a-z-]+)*' | sed 's/^  //; s/, /\n/g' |
    LC_ALL=C sort >"$T/wanted"
  complete_line $program - | tr '|' '\n' >"$T/got"
  echo >>"$T/got"
  diff "$T/wanted" "$T/got" >&2 ||
    fail "$program: the options of --help-all (<) and of the completion (>) differ"

  # The completions for zsh and fish have the same options.
  zsh_script=$STEN_BIN/../share/zsh/site-functions/_$program
  fish_script=$STEN_BIN/../share/fish/vendor_completions.d/$program.fish
  for shell in zsh fish; do
    script=${shell}_script
    if command -v $shell >/dev/null; then
      $shell -n "${!script}" || fail "the completion of $program is not valid $shell"
    else
      [ $program = sten-prune ] && echo "$shell not found: its completion is not loaded"
    fi
  done
  [ "$(head -n 1 "$zsh_script")" = "#compdef $program" ] ||
    fail "the zsh completion of $program does not start with #compdef $program"
  grep -oE "^  '\*-(-[a-z-]+|[a-zA-Z])" "$zsh_script" | sed "s/^  '\*//" | LC_ALL=C sort >"$T/got"
  diff "$T/wanted" "$T/got" >&2 ||
    fail "$program: the options of --help-all (<) and of the zsh completion (>) differ"
  grep -oE -e ' -[sl] [a-zA-Z-]+' "$fish_script" | sed 's/^ -s /-/; s/^ -l /--/' | LC_ALL=C sort >"$T/got"
  diff "$T/wanted" "$T/got" >&2 ||
    fail "$program: the options of --help-all (<) and of the fish completion (>) differ"

  expect '--progress' $program --prog
  expect 'always|auto|never' $program --progress ''
  expect 'always|auto' $program --progress = a
  expect 'always|auto|never' $program --progress =
  expect 'models|page.html|report.json|state' $program --report ''
  expect 'report.json' $program --report = rep
  expect '' $program --threads ''
  [ $program = sten-bench ] && continue
  [ $program = sten-train ] && continue
  expect 'model.safetensors|models|state|two words.safetensors|w.npy' $program ''
  expect 'model.safetensors|models' $program --quiet mod
  [ $program = sten-energy ] && continue
  [ $program = sten-run ] && continue
  for layout in dense masked bitmask csr nm nmg nmgv; do
    complete_line $program --to '' | tr '|' '\n' | grep -qx $layout ||
      fail "$program: the completion of --to lacks $layout"
  done
  expect 'nm|nmg|nmgv' $program --to nm
done

# sten completes its commands, and the arguments of a command as its program does.
unset -f _sten_prune # sten's completion loads it
. "$scripts/sten"
shellcheck_of_sten=$(if command -v shellcheck >/dev/null; then shellcheck "$scripts/sten" 2>&1; fi) ||
  fail "shellcheck warns about the completion of sten: $shellcheck_of_sten"
for shell in zsh fish; do
  command -v $shell >/dev/null || continue
  [ $shell = zsh ] && script=$STEN_BIN/../share/zsh/site-functions/_sten
  [ $shell = fish ] && script=$STEN_BIN/../share/fish/vendor_completions.d/sten.fish
  $shell -n "$script" || fail "the completion of sten is not valid $shell"
done
expect 'prune' sten pr
expect '--help|--version' sten -
expect 'convert' sten help con
expect '' sten help convert ''
expect '--progress' sten prune --prog
expect 'auto' sten prune --to = au
expect 'all|test|train|validation' sten run models --split ''
expect '' sten unknown ''
. "$scripts/sten-prune"

# tab_in_zsh LINE COMPLETED: the Tab key completes LINE in zsh, on a pseudo-terminal.
tab_in_zsh() {
  cat >"$T/tab.zsh" <<'END'
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "fpath=(${(q)1} \$fpath); autoload -Uz compinit; compinit -u -D"
zpty -w shell 'complete-and-tell() { zle complete-word; print -r -- "$BUFFER" >$LINE_FILE; exit }'
zpty -w shell 'zle -N complete-and-tell; bindkey "^I" complete-and-tell'
zpty -w -n shell "$2"$'\t'
while zpty -r shell line; do :; done
END
  rm -f "$T/line"
  LINE_FILE=$T/line HOME=$T zsh -f "$T/tab.zsh" "$(realpath "$STEN_BIN/../share/zsh/site-functions")" "$1"
  [ "$(cat "$T/line")" = "$2" ] || fail "zsh completes '$1': expected '$2', got '$(cat "$T/line")'"
}
if command -v zsh >/dev/null; then
  tab_in_zsh 'sten-prune --spars' 'sten-prune --sparsity='
  tab_in_zsh 'sten-prune --to bitm' 'sten-prune --to bitmask '
  tab_in_zsh 'sten-convert --to=bitm' 'sten-convert --to=bitmask '
  tab_in_zsh 'sten-prune --out-dir mo' 'sten-prune --out-dir models/'
  tab_in_zsh 'sten-bench con' 'sten-bench convert '
  tab_in_zsh 'sten-train r.json --set ema' 'sten-train r.json --set ema='
  tab_in_zsh 'sten conv' 'sten convert '
  tab_in_zsh 'sten help conv' 'sten help convert '
  tab_in_zsh 'sten prune --spars' 'sten prune --sparsity='
  tab_in_zsh 'sten bench con' 'sten bench convert '
fi
# in_fish LINE PROPOSALS: the proposals of fish for LINE.
in_fish() {
  local got
  got=$(HOME=$T fish -c "for file in '$STEN_BIN'/../share/fish/vendor_completions.d/*.fish; source \$file; end
    complete -C '$1'" |
    cut -f 1 | LC_ALL=C sort | tr '\n' '|' | sed 's/|$//')
  [ "$got" = "$2" ] || fail "fish completes '$1': expected '$2', got '$got'"
}
if command -v fish >/dev/null; then
  in_fish 'sten-prune --spars' '--sparsity'
  in_fish 'sten-prune --scope ' 'global|local|row'
  in_fish 'sten-prune --to=nm' '--to=nm|--to=nmg|--to=nmgv'
  in_fish 'sten-prune --out-dir ' 'models/|state/'
  in_fish 'sten-bench con' 'convert'
  in_fish 'sten-train r.json --set ema' 'ema='
  in_fish 'sten conv' 'convert'
  in_fish 'sten help conv' 'convert'
  in_fish 'sten prune --spars' '--sparsity'
  in_fish 'sten prune --scope ' 'global|local|row'
fi

expect 'auto' sten-prune --to = au
expect 'auto' sten-convert --to au
expect '' sten-bench convert --layouts au
expect 'models|state' sten-prune --out-dir ''
expect 'models' sten-prune --state = mod
expect 'global|local|row' sten-prune in.safetensors --scope ''
expect 'nm:|nmg:|nmgv:' sten-prune --structure n
expect '' sten-prune --structure nm : n = 2
expect 'rules' sten-prune --rules ru
expect 'model.safetensors|models' sten-energy x --against mod
expect 'models|report.json|state' sten-train ''
expect 'models|state' sten-train r.json --out ''
expect 'sparsity.0.target=' sten-train r.json --set sparsity.0.t
expect 'ema=|epochs=|evaluation.batch=|evaluation.every=|evaluation.keep_best=|evaluation.test=|exchange.begin=|exchange.error_feedback=|exchange.overlap=|exchange.sparsifier=|exchange.transport=' sten-train r.json --set e
expect 'all|test|train|validation' sten-run models --split ''
expect 'models|notes.txt|report.json|state' sten-run models --data ''
expect 'convert' sten-bench con
expect 'convert|gemm' sten-bench ''
expect 'chain|gemm|linear|sampled|transposed' sten-bench gemm --form ''
expect 'laplace|normal|rowscaled|student3' sten-bench convert --input ''
expect 'nm|nmg|nmgv' sten-bench convert --layouts nm
expect 'report.json' sten-bench convert -o rep
expect 'report.json' sten-bench gemm --against rep

# The proposed values are those that the programs list in their error messages.
for flag in --method --scope --nan --allocate; do
  expect_exit 2 sten-prune "$MODEL" --dry-run --sparsity 0.5 $flag zzzzz
  named=$(sed 's/.* (expected one of //; s/)$//; s/, /\n/g' "$T/err" | LC_ALL=C sort |
    tr '\n' '|' | sed 's/|$//')
  expect "$named" sten-prune $flag ''
done
