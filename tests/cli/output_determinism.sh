# SPDX-License-Identifier: Apache-2.0
# The same work gives the same bytes, whatever the threads, verbosity and intermediate files.
. "$(dirname "$0")/_lib.sh"

cd "$T"
ln -s "$MODEL" in.safetensors

# same COMMAND...: with -o, and with what must not matter added, the output stays.
same() {
  "$@" -o wanted >table 2>err
  for more in '--threads 1' '--threads 2 -v --progress always --strict' \
    '--threads 3 --report report.json --json' '--threads 16 --summary'; do
    "$@" -o got $more >out 2>err
    cmp got wanted || fail "'$* $more' writes other bytes"
    rm -f got report.json
  done
  touch got
  "$@" -o got --force >out 2>err
  cmp got wanted || fail "'$* --force' writes other bytes"
  mkdir elsewhere && cd elsewhere
  "$1" ../in.safetensors "${@:3}" -o ../moved >out 2>err
  cd .. && rm -r elsewhere
  cmp moved wanted || fail "'$*' writes other bytes from another folder"
  # --dry-run says the same, but for the size of the file, and writes nothing.
  sed -i 's/; file .* after$//' table
  rm -f got moved
  before=$(ls)
  "$@" --dry-run >out 2>err
  [ "$(tail -n 1 out)" = 'dry run: nothing was written' ] || fail "'$* --dry-run' does not say so"
  sed -i '$d' out
  cmp out table || fail "'$* --dry-run' prints another table"
  "$@" --dry-run -o nothing 2>err | sed '$d' >out
  cmp out table || fail "'$* --dry-run -o OUT' prints another table"
  [ "$(ls)" = "$before" ] || fail "'$* --dry-run' wrote something"
  rm wanted
}

touch out err table
same sten-prune in.safetensors --sparsity 0.9
same sten-prune in.safetensors --sparsity 0.7 --method random --to bitmask
same sten-prune in.safetensors --structure nmg:n=1,m=10,g=4 --to nmg
same sten-convert in.safetensors --to csr
same sten-convert in.safetensors --to bcsr:h=4,w=4

# energy says the same at any thread count.
sten-prune in.safetensors -o pruned --sparsity 0.9 -q >/dev/null
sten-energy pruned --against in.safetensors --json -q --threads 1 >wanted
for threads in 2 3; do
  sten-energy pruned --against in.safetensors --json -q --threads $threads >got
  cmp got wanted || fail "energy differs at $threads threads"
done

# Random pruning follows its seed, and each tensor by its name, not by its place.
random() { sten-prune in.safetensors -o "$@" --method random --sparsity 0.9 -q >/dev/null; }
random none
random zero --seed 0
random seven --seed 7
random again --seed 7
cmp none zero || fail 'the default seed is not 0'
cmp seven again || fail 'the same seed gives other bytes'
cmp -s zero seven && fail 'another seed gives the same bytes'
# No seed where nothing is random.
sten-prune in.safetensors -o first --sparsity 0.9 -q >/dev/null
sten-prune in.safetensors -o second --sparsity 0.9 --seed 7 -q >/dev/null
cmp first second || fail '--seed changes what is not random'
# The same values by another spelling.
sten-prune in.safetensors -o third --sparsity=.90 --method magnitude --to dense -q >/dev/null
cmp first third || fail 'the spelling of options changes the bytes'
