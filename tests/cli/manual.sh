# SPDX-License-Identifier: Apache-2.0
# The manual pages list every option of --help-all with its values, and their examples work.
. "$(dirname "$0")/_lib.sh"
pages=$STEN_BIN/../share/man/man1

# plain FILE: prints FILE without the escapes and font changes of roff.
plain() {
  sed -e 's/\\f[BIR]//g' -e 's/\\-/-/g' -e "s/\\\\(aq/'/g" -e 's/\\(ti/~/g' -e 's/\\(ha/^/g' \
    -e 's/\\&//g' -e 's/\\e/\\/g' "$1"
}

cp "$MODEL" "$T/model.safetensors"
sten-prune "$MODEL" -o "$T/pruned.safetensors" --sparsity 0.9 -q >"$T/out"
for program in $PROGRAMS; do
  page=$pages/$program.1
  plain "$page" >"$T/plain"
  $program --help-all >"$T/out"
  options=$(grep -oE '^  (-[a-z], )?--[a-z-]+(, --[a-z-]+)*( [][A-Za-z.=]+)?' "$T/out" | sed 's/^  //')
  [ "$(echo "$options" | wc -l)" -ge 15 ] || fail "$program --help-all has fewer than 15 options"
  while read -r option; do
    grep -qxF -e "$option" "$T/plain" || fail "$page lacks $option"
  done <<<"$options"
  # The page has the words of each description; its line breaks may differ.
  words() { sed -e '/^\.[A-Z]/d' -e '/^\.br/d' "$1" | tr -s ' \n' ' '; }
  words "$T/plain" >"$T/words"
  sed -nE '/^Arguments:$/,/^Examples:$/p' "$T/out" |
    sed -E -e '/^[A-Z].*:$/d' -e 's/^  (-[^ ]*, )?(--)?[^ ].{20}  ?//' -e 's/^ +(- )?//' >"$T/lines"
  while read -r line; do
    grep -qF -e "$line" "$T/words" || fail "$page lacks '$line'"
  done < <(grep -v '^-' "$T/lines" | grep .)
  for section in NAME SYNOPSIS DESCRIPTION OPTIONS EXAMPLES 'EXIT STATUS' 'SEE ALSO'; do
    grep -qx ".SH $section" "$page" || fail "$page has no $section"
  done
  for code in 0 1 2 3 130/143; do grep -qx "$code" "$T/plain" || fail "$page lacks exit code $code"; done
  case $(plain "$page" | sed -n '/^.SH SEE ALSO/,$p') in
    *"$program(1)"*) fail "$page refers to itself" ;;
    *"(1)"*) ;;
    *) fail "$page refers to no other page" ;;
  esac

  # groff and mandoc accept the page without warnings. The page has no date, so that each build
  # gives the same page.
  if command -v groff >/dev/null; then
    groff -man -ww -Tutf8 "$page" >"$T/out" 2>"$T/err" || fail "groff fails on $page"
    [ ! -s "$T/err" ] || fail "groff warns about $page"
  fi
  if command -v mandoc >/dev/null; then
    mandoc -Tlint -Wwarning "$page" 2>&1 | grep -v 'missing date' >"$T/err" || true
    [ ! -s "$T/err" ] || fail "mandoc warns about $page"
  fi

  mkdir "$T/$program"
  cp "$T"/*.safetensors "$T/$program"
  [ $program = sten-prune ] && rm "$T/$program/pruned.safetensors"
  cp "$STEN_SOURCE/recipes/digits-mlp-one-shot.json" "$T/$program/recipe.json"
  ln -s "$STEN_SOURCE/recipes/data" "$T/$program/data"
  [ $program != sten-convert ] || ln -s "$STEN_SOURCE/tests/nn/decoders/llama" "$T/$program/model"
  if [ $program = sten-run ]; then
    ln -s "$STEN_SOURCE/recipes/models/shakespeare-bert" "$T/$program/bert"
    sten-train "$T/$program/recipe.json" --out "$T/$program/run" -q
    sten-train "$STEN_SOURCE/recipes/shakespeare-gpt.json" --out "$T/$program/gpt" -q --set steps=1 --set rate.warmup=0 \
      --set data.train=0.999 --set data.validation=0
    sten-prune "$T/$program/run/model.safetensors" -o "$T/$program/pruned.safetensors" --sparsity 0.5 -q -f
  fi
  sed -n '/^\.EX$/,/^\.EE$/{//!p}' "$T/plain" >"$T/examples"
  [ "$(wc -l <"$T/examples")" -ge 3 ] || fail "$page has fewer than 3 lines of examples"
  while read -r example; do
    status=0
    (cd "$T/$program" && bash -c "$example") >"$T/out" 2>"$T/err" </dev/null || status=$?
    case $status in 0 | 3) ;; *) fail "'$example' ended with $status" ;; esac
  done <"$T/examples"
done
