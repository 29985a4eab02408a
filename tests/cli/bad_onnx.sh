# SPDX-License-Identifier: Apache-2.0
# Damaged or inconsistent ONNX models give one clear error line in every program that reads
# checkpoints.
. "$(dirname "$0")/_lib.sh"
. "$(dirname "$0")/_safetensors.sh"
. "$(dirname "$0")/_onnx.sh"
mkdir "$T/work"
cd "$T/work"

four=$(floats 1 2 3 4)
# weight NAME TYPE DIMS FIELDS: an initializer, and a MatMul that uses it.
weight() {
  local dims= d
  for d in $3; do dims+=$(number 1 "$d"); done
  node MatMul m x "$1" y
  message 5 "$dims$(number 2 "$2")$(text 8 "$1")$4"
}
bad() { # bad TEXT GRAPH
  model "$2" >$BAD
  refused "$1"
}
raw=$(message 9 "$four")

# A file that is truncated before the operator sets (its last 4 bytes) is rejected at any length.
model "$(weight w 1 '2 2' "$raw")" >whole
for length in $(seq 1 7 $(($(wc -c <whole) - 5))); do
  head -c "$length" whole >$BAD
  held 99 refused ''
done

# The stored elements have to fit the shape and the data type.
held 100 bad "'w': expected 24 bytes for shape [2, 3] of F32, got 16" "$(weight w 1 '2 3' "$raw")"
bad "'w': expected 8 bytes for shape [1, 2] of F32, got 16" "$(weight w 1 '1 2' "$raw")"
bad "'w': expected 16 bytes for shape [2, 2] of F32, got 0" "$(weight w 1 '2 2' '')"
bad "'w': " "$(weight w 1 "$((1 << 40)) $((1 << 40))" "$raw")"
bad "'w': too many elements for shape [2, 1]" "$(weight w 7 '2 1' "$(message 7 010203)")"
bad "'w': element 1 does not fit UINT8" "$(weight w 2 '2 1' "$(message 5 01"$(varint 256)")")"
bad 'stored in two ways' "$(weight w 1 '2 2' "$raw$(message 4 "$four")")"
bad "duplicate tensor name 'w'" "$(weight w 1 '2 2' "$raw")$(weight w 1 '2 2' "$raw")"

# Unknown data types are errors. (ONNX types that sten does not have are skipped with a warning.)
for type in 0 25 1000; do
  held 101 bad "'w': unknown data type $type" "$(weight w $type '2 2' "$raw")"
done

# External data: offset, length and file name.
echo -n 0123456789abcdef >data
outside() { bad "$1" "$(weight w 1 '2 2' "$2")"; }
held 102 outside "'w': external data: 16 bytes at byte 1 exceed 'data', which has 16 bytes" "$(external data 1)"
outside "which has 16" "$(external data 9223372036854775807)"
outside "'w': external data in 'none': file not found" "$(external none 0)"
outside "'../data': the name is a path that leaves its directory" "$(external ../data 0)"
outside "'/etc/hostname': the name is an absolute path" "$(external /etc/hostname 0)"
outside "the name holds control characters" "$(external $'a\nb' 0)"
outside 'external data must be in another file than the model' "$(external $BAD 0)"
ln -s /etc/hostname link
outside 'outside the directory' "$(external link 0)"

# Names: control characters are rejected, and escaped in the error message.
held 103 bad "'a\\x1b[2J': the name holds control characters" "$(weight $'a\e[2J' 1 '2 2' "$raw")"
bad "'a\\nb': the name holds control characters" "$(weight $'a\nb' 1 '2 2' "$raw")"
bad "'': the name is empty" "$(weight '' 1 '2 2' "$raw")"
bad 'the name is a path that leaves its directory' "$(weight ../w 1 '2 2' "$raw")"

# The weights of a graph with far more nodes than a real model (2^20) can still be pruned.
bytes_of "$(node Relu r x '' y)" >nodes
for _ in $(seq 20); do
  cat nodes nodes >more
  mv more nodes
done
graph=$(weight w 1 '2 2' "$raw")
graph_bytes=$(($(wc -c <nodes) + ${#graph} / 2))
{
  bytes_of "$(number 1 8)$(varint 58)$(varint $graph_bytes)"
  cat nodes
  bytes_of "$graph"
} >large.onnx
rm nodes
expect_exit 0 sten-prune large.onnx -o large.safetensors --sparsity 0.5
held 104 expect_out 'pruned 1 of 1 tensors'

# Graphs to execute: inconsistent nodes, missing tensors and unsupported operators are reported
# before anything is computed.
port() { message "$1" "$(text 1 "$2")$(message 2 "$(message 1 "$(number 1 1)$(message 2 "$(message 1 "$(number 1 4)")")")")"; }
step() { message 1 "$(text 1 "$2")$(text 2 "$3")$(text 4 "$1")"; } # step OPERATOR INPUT OUTPUT
graph() { # graph TEXT NODES
  model "$2$(port 11 x)$(port 12 y)" >$BAD
  local command
  for command in "sten-bench model --model $BAD" "sten-train recipe.json --out run"; do
    expect_exit 1 $command
    expect_one_line_err
    expect_err "$1"
    [ ! -s "$T/out" ] || fail "'$command' printed to standard output"
    [ ! -e run ] || fail "'$command' created the output directory"
  done
}
printf '{"[PAD]": 0, "[MASK]": 1, "a": 2, "b": 3}' >vocab.json
repeat 100 'ab ' >text.txt
cat >recipe.json <<RECIPE
{"schema": 1, "model": {"kind": "onnx", "file": "$BAD"}, "steps": 1, "optimizer": {"rate": 0.01},
  "data": {"kind": "masked-text", "text": "text.txt", "vocabulary": "vocab.json", "window": 8}}
RECIPE
graph "node 'a': input 'b' is an output of a later node" "$(step Relu b a)$(step Relu a b)$(step Relu b y)"
graph "node 'a': unknown input 'z' (expected an input of the graph or an output of a node)" "$(step Relu z a)$(step Relu a y)"
graph "output 'y' not found: expected the output of a node" "$(step Relu x a)"
graph 'unsupported operators If, Loop, Scan' "$(step If x a)$(step Loop a b)$(step Scan b y)"
graph 'unsupported operator a\x1b[2J' "$(step $'a\e[2J' x y)"
graph "node 'y' (Add): expected 2 inputs, got 1" "$(step Add x y)"
graph "node 'y' (Einsum): expected 1 or more inputs, got 0" "$(message 1 "$(text 2 y)$(text 4 Einsum)")"
blocks=$(message 5 "$(text 1 blocksize)$(number 3 4294967296)$(number 20 2)")
graph "attribute blocksize is 4294967296: expected 1 to 2147483648" \
  "$(message 1 "$(text 1 x)$(text 2 y)$(text 4 DepthToSpace)$blocks")"
