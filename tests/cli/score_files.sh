# SPDX-License-Identifier: Apache-2.0
# Score files for movement, gradient and l0, block pruning, and invalid score files.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_safetensors.sh"
cd "$T"

M1='\x00\x00\x80\xbf' # -1
M2='\x00\x00\x00\xc0'
M3='\x00\x00\x40\xc0'
w="$(entry a.weight F32 2,2 0 16)"
safetensors w.safetensors "{$w}" "$F1$F2$F3$F4"
safetensors s.safetensors "{$(entry other F32 1 0 4),$(entry a.weight F32 2,2 4 20)}" "$F1$F3$M2$F0$M3"
values() { data "$1" | od -An -tf4 -w64 | tr -s ' ' | sed 's/^ //'; }
prunes() { # VALUES ARGUMENT...
  expect_exit 0 sten-prune w.safetensors -o o.safetensors -f -q "${@:2}"
  [ "$(values o.safetensors)" = "$1" ] ||
    fail "'${*:2}': expected the values $1, got $(values o.safetensors)"
}
# The scores are 3 -2 0 -3; the products of scores and weights are 3 -4 0 -12.
prunes '1 2 3 0' --method movement --scores s.safetensors --sparsity 0.25
prunes '1 0 3 0' --method movement --scores s.safetensors --sparsity 0.5
prunes '1 0 0 0' --method movement --scores s.safetensors --sparsity 0.75
prunes '0 2 0 4' --method gradient --scores s.safetensors --sparsity 0.5
prunes '1 2 3 0' --method l0 --scores s.safetensors
prunes '1 0 3 0' --method movement --scores s.safetensors --sparsity 0.5 --scope global
prunes '0 2 0 4' --method gradient --scores s.safetensors --sparsity 0.5 --scope global
prunes '1 2 3 0' --rule 'a.weight=l0' --scores s.safetensors
prunes '0 2 0 4' --method gradient --scores s.safetensors --structure nm:n=1,m=2
prunes '0 0 3 4' --structure block:h=1,w=2 --sparsity 0.5
prunes '0 2 0 4' --structure block:h=2,w=1 --sparsity 0.5
prunes '0 0 3 4' --structure block:h=1,w=2 --sparsity 0.5 --method gradient --scores s.safetensors
prunes '0 0 3 4' --structure block:h=1,w=2 --sparsity 0.5 --scope global
prunes '1 2 3 4' --rule '*=relu'
prunes '0 0 3 4' --rule '*=block-magnitude:sparsity=0.5,h=1,w=2'
header o.safetensors | grep -qF 'block-magnitude:sparsity=0.5,h=1,w=2' || fail "the provenance lacks the sparsifier"

# The report names the method. Energy is computed from magnitudes, not from scores.
expect_exit 0 sten-prune w.safetensors --dry-run --method movement --scores s.safetensors --sparsity 0.5 --json
expect_out '"sparsifier": "movement:sparsity=0.5"'
expect_out '"energy": 0.4'
expect_exit 0 sten-prune w.safetensors --dry-run --structure block:h=1,w=2 --sparsity 0.5 --scope global
expect_out "one threshold: 1 of the 2 blocks of 1 tensors removed"

# One threshold over tensors whose scores differ in sign and dtype: 5 of 8 weights are pruned.
safetensors two.safetensors "{$(entry a.weight F32 2,2 0 16),$(entry b.weight F16 2,2 16 24)}" \
  "$F1$F2$F3$F4\x00\x3c\x00\x3c\x00\x3c\x00\x3c"
safetensors s2.safetensors "{$(entry b.weight F32 2,2 0 16),$(entry a.weight F16 2,2 16 24)}" \
  "$M1$F2$F3$F4\x00\xc0\x00\x3c\x00\x40\x00\x44" # b -1 2 3 4, a -2 1 2 4
expect_exit 0 sten-prune two.safetensors -o o2.safetensors -q --method movement --scope global --sparsity 0.625 \
  --scores s2.safetensors
[ "$(data o2.safetensors | od -An -tx1 -w64 | tr -d ' \n')" = "000000000000000000000000000080400000"0000003c003c ] ||
  fail "movement with one threshold: wrong weights kept: $(data o2.safetensors | od -An -tx1 -w64)"
expect_exit 0 sten-prune two.safetensors --dry-run --method movement --scope global --sparsity 0.25 --scores s2.safetensors
expect_out "one threshold: 2 of the 8 weights of 2 tensors removed"

# Score files that are invalid or do not match the tensors.
refuse() { # TEXT HEADER DATA
  safetensors bad.safetensors "$2" "$3"
  for how in '--method movement --sparsity 0.5' '--method gradient --sparsity 0.5' '--method l0'; do
    expect_exit 1 sten-prune w.safetensors -o no.safetensors $how --scores bad.safetensors
    expect_err "bad.safetensors: $1"
    expect_one_line_err
    [ ! -e no.safetensors ] || fail "the rejected run left an output"
  done
}
refuse "missing scores 'a.weight', did you mean 'a.weigth'?" "{$(entry a.weigth F32 2,2 0 16)}" "$F1$F1$F1$F1"
refuse "scores 'a.weight' have shape [4], but the tensor has [2, 2]" "{$(entry a.weight F32 4 0 16)}" "$F1$F1$F1$F1"
refuse "scores 'a.weight': expected F64" "{$(entry a.weight I32 2,2 0 16)}" "$F1$F1$F1$F1"
refuse "'a.weight': the score of element 2 is NaN" "{$w}" "$F1$F1\x00\x00\xc0\x7f$F1"
expect_exit 1 sten-prune w.safetensors -o no.safetensors --method l0 --scores missing.safetensors
expect_one_line_err

# Flags that contradict each other.
wrong() { # TEXT ARGUMENT...
  expect_exit 2 sten-prune w.safetensors -o no.safetensors "${@:2}"
  expect_err "$1"
  expect_one_line_err
  [ ! -e no.safetensors ] || fail "the rejected run left an output"
}
S='--scores s.safetensors'
wrong '--method movement needs --scores FILE' --method movement --sparsity 0.5
wrong '--method l0 needs --scores FILE' --method l0
wrong '--method gradient needs --scores FILE' --method gradient --structure nm:n=1,m=2
wrong "--rule 'a*': movement needs --scores FILE" --rule 'a*=movement:sparsity=0.5'
wrong '--scores belongs to --method or rules of movement, gradient and l0' $S --sparsity 0.5
wrong '--scores belongs to' $S --rule '*=relu'
wrong 'missing --sparsity' $S --method movement
wrong '--sparsity and --method l0' $S --method l0 --sparsity 0.5
wrong '--scope global needs --method magnitude, movement or gradient' $S --method l0 --scope global
wrong '--method movement is only for unstructured pruning' $S --method movement --structure nm:n=1,m=2
wrong '--method movement is only for unstructured pruning' $S --method movement --structure block:h=1,w=2 --sparsity 0.5
wrong '--method l0 is only for unstructured pruning' $S --method l0 --structure nmg:n=1,m=2,g=1
wrong 'missing --sparsity' --structure block:h=2,w=2
wrong "missing 'w'" --structure block:h=2 --sparsity 0.5
wrong 'expected h >= 1 and w >= 1' --structure block:h=2,w=0 --sparsity 0.5
wrong "has no key 'n'" --structure block:h=2,w=2,n=1 --sparsity 0.5
wrong 'no own sparsifier' --rule '*=resparsify'
wrong '--mask excludes --sparsity' --mask s.safetensors $S
status=0
sten-prune - -o no.safetensors --method l0 --scores - <w.safetensors >out 2>err || status=$?
[ $status = 2 ] ||
  fail "model and scores both from standard input: expected exit code 2, got $status"
expect_err 'standard input cannot be both'

# A block-pruned tensor can be stored in the block layout bcsr.
expect_exit 0 sten-prune w.safetensors -o b.safetensors -q --structure block:h=1,w=2 --sparsity 0.5 --to bcsr
expect_exit 0 sten-energy b.safetensors
expect_out 'bcsr:h=1,w=2'
