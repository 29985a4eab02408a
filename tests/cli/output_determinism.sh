# SPDX-License-Identifier: Apache-2.0
# A command writes the same bytes for any thread count, verbosity, report and working directory.
. "$(dirname "$0")/_lib.sh"

cd "$T"
ln -s "$MODEL" in.safetensors

# same COMMAND...: runs it with -o and with options that must not change the output.
same() {
  "$@" -o wanted >table 2>err
  for more in '--threads 1' '--threads 2 -v --progress always --strict' \
    '--threads 3 --report report.json --json' '--threads 16 --summary'; do
    "$@" -o got $more >out 2>err
    cmp got wanted || fail "'$* $more' writes different bytes"
    rm -f got report.json
  done
  touch got
  "$@" -o got --force >out 2>err
  cmp got wanted || fail "'$* --force' writes different bytes"
  mkdir elsewhere && cd elsewhere
  "$1" ../in.safetensors "${@:3}" -o ../moved >out 2>err
  cd .. && rm -r elsewhere
  cmp moved wanted || fail "'$*' writes different bytes in another working directory"
  # --dry-run prints the same table except for the file size, and writes nothing.
  sed -i 's/; file .* after$//' table
  rm -f got moved
  before=$(ls)
  "$@" --dry-run >out 2>err
  [ "$(tail -n 1 out)" = 'dry run: nothing was written' ] ||
    fail "'$* --dry-run' does not end with 'dry run: nothing was written'"
  sed -i '$d' out
  cmp out table || fail "'$* --dry-run' prints a different table"
  "$@" --dry-run -o nothing 2>err | sed '$d' >out
  cmp out table || fail "'$* --dry-run -o OUT' prints a different table"
  [ "$(ls)" = "$before" ] || fail "'$* --dry-run' wrote a file"
  rm wanted
}

touch out err table
same sten-prune in.safetensors --sparsity 0.9
same sten-prune in.safetensors --sparsity 0.7 --method random --to bitmask
same sten-prune in.safetensors --structure nmg:n=1,m=10,g=4 --to nmg
same sten-convert in.safetensors --to csr
same sten-convert in.safetensors --to bcsr:h=4,w=4

# sten-energy prints the same report for any thread count.
sten-prune in.safetensors -o pruned --sparsity 0.9 -q >/dev/null
sten-energy pruned --against in.safetensors --json -q --threads 1 >wanted
for threads in 2 3; do
  sten-energy pruned --against in.safetensors --json -q --threads $threads >got
  cmp got wanted || fail "the report of sten-energy differs with $threads threads"
done

# Random pruning depends on the seed.
random() { sten-prune in.safetensors -o "$@" --method random --sparsity 0.9 -q >/dev/null; }
random none
random zero --seed 0
random seven --seed 7
random again --seed 7
cmp none zero || fail 'the default seed is not 0'
cmp seven again || fail 'the same seed gives different bytes'
cmp -s zero seven && fail 'a different seed gives the same bytes'
# --seed has no effect without random pruning.
sten-prune in.safetensors -o first --sparsity 0.9 -q >/dev/null
sten-prune in.safetensors -o second --sparsity 0.9 --seed 7 -q >/dev/null
cmp first second || fail '--seed changes the output of magnitude pruning'
# The same option values, spelled differently.
sten-prune in.safetensors -o third --sparsity=.90 --method magnitude --to dense -q >/dev/null
cmp first third || fail 'the spelling of options changes the bytes'
