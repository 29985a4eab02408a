# SPDX-License-Identifier: Apache-2.0
# --report writes reports for programs, spreadsheets and people.
. "$(dirname "$0")/_lib.sh"

cd "$T"
ln -s "$MODEL" in.safetensors
prune() {
  sten-prune in.safetensors --structure nmg:n=2,m=4,g=2 --to nmg --include '*layer.1.output.*' \
    --include '*layer.1.*key.weight' "$@"
}

expect_exit 0 prune -o one.safetensors --report report.csv
cp report.csv out
golden report_csv
expect_exit 0 prune -o two.safetensors --report report.md
cp report.md out
golden report_md
# The JSON report is what --json prints.
expect_exit 0 prune -o three.safetensors --report report.json --json
cmp report.json out || fail 'the JSON report differs from --json'
expect_exit 0 sten-energy one.safetensors --report energy.json --json
cmp energy.json out || fail 'the JSON report of energy differs from --json'
expect_exit 0 sten-convert one.safetensors -o dense.safetensors --to dense --report convert.json \
  --json
cmp convert.json out || fail 'the JSON report of convert differs from --json'
# The report lists every tensor, whatever is printed on the screen.
expect_exit 0 prune -o - --report other.json --quiet
# Only the size of the output file differs.
same() { grep -v -e 'file.bytes.after' -e '<dt>file</dt>' -e 'whole model' "$1"; }
same report.json >wanted
same other.json | cmp - wanted || fail '-o - changes the report'
expect_exit 0 prune -o summary.safetensors --report summary.csv --summary
cmp summary.csv report.csv || fail '--summary changes the report'
expect_exit 0 prune --dry-run --report dry.csv
cmp dry.csv report.csv || fail '--dry-run changes the report'

# The HTML report is self-contained: it names the options behind the figures, but not the output.
expect_exit 0 prune -o page.safetensors --report page.html --threads 2
for text in '<!DOCTYPE html>' "sten-prune $(sten-prune --version | sed 's/.* //')" \
  '<code>--structure nmg:n=2,m=4,g=2 --to nmg --include &#39;*layer.1.output.*&#39;' \
  'title="bert.encoder.layer.1.output.dense.weight"' '<svg ' '</html>'; do
  grep -qF -e "$text" page.html || fail "the page lacks '$text'"
done
! grep -qe 'page.safetensors' -e '--threads' page.html || fail 'the page names output or --threads'
expect_exit 0 prune --dry-run --threads 1 --report again.html
same page.html >wanted
same again.html | cmp - wanted || fail 'the page differs between runs'
expect_exit 0 sten-energy page.safetensors --report energy.html
expect_exit 0 sten-convert page.safetensors -o dense2.safetensors --to dense --report convert.html
for page in energy convert; do
  grep -qF '<h1>page.safetensors</h1>' $page.html || fail "$page.html has no title"
done

# An existing report is rejected before any work, and replaced with --force.
echo old >old.csv
expect_exit 2 prune -o four.safetensors --report old.csv
expect_one_line_err
expect_err 'old.csv: exists (use --force to overwrite)'
[ "$(cat old.csv)" = old ] || fail 'a report was replaced without --force'
expect_exit 0 prune -o four.safetensors --report old.csv --force
cmp old.csv report.csv || fail '--force did not replace the report'
rm four.safetensors
for refused in '2 -o four.safetensors --report missing.txt' \
  '1 -o four.safetensors --report missing/report.json' \
  '2 -o four.json --report four.json' '2 -o four.json --report ./four.json --force'; do
  expect_exit ${refused%% *} prune ${refused#* }
  expect_one_line_err
  for left in four.safetensors four.json missing.txt; do
    [ ! -e $left ] || fail "'$refused' left $left"
  done
done
# A failed run leaves no report.
expect_exit 1 sten-energy missing.safetensors --report failed.json
expect_exit 2 prune -o four.safetensors --include nothing --report failed.json
[ ! -e failed.json ] || fail 'a failed run left a report'
if [ -w /dev/full ]; then
  ln -s /dev/full full.json
  expect_exit 1 prune -o five.safetensors --report full.json
  expect_one_line_err
  expect_err 'full.json: No space left on device'
fi
