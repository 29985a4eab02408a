# SPDX-License-Identifier: Apache-2.0
# sten-bench reports an invalid command line in one line, with exit code 2.
. "$(dirname "$0")/_lib.sh"

wrong() { # wrong TEXT ARGUMENT...
  text=$1
  shift
  expect_exit 2 sten-bench "$@"
  expect_one_line_err
  expect_err "$text"
  [ ! -s "$T/out" ] || fail "'$*' printed to standard output"
}
wrong 'BENCH' --repeats 2
wrong "unknown BENCH 'convrt', did you mean 'convert'? (expected one of gemm, convert, dispatch, step, model, allreduce)" convrt
wrong "did you mean 'gemm'" gem
wrong '--form belongs to gemm' convert --form linear
wrong '--precision belongs to gemm and model' convert --precision bf16
wrong "--precision: unknown precision 'bf15', did you mean 'bf16'? (expected one of float32, bf16, float16, int8)" gemm --precision bf15
wrong '--input belongs to convert' gemm --input laplace
wrong '--form' gemm --form linaer
wrong "--shape '768x3072': expected MxKxN" gemm --shape 768x3072
wrong '--max-slowdown belongs to --against' gemm --max-slowdown 1.2
wrong '--max-slowdown must be >= 1, got 0.5' gemm --against x.json --max-slowdown 0.5
wrong "--shape '768x': expected RxK" convert --shape 768x
wrong "did you mean 'bert-ffn-in'" convert --shape bert-ffn-im
wrong "did you mean 'csr'" convert --layouts csrr
wrong 'sparsity must be in [0, 1], got 1.5' convert --layouts csr:sparsity=1.5
wrong 'input' convert --input gaussian
wrong 'expected a name that ends in .json, .csv, .md, .html or .svg' convert -o result.txt
wrong '--repeats' convert --repeats 0
wrong '--threads' convert --threads 0
wrong "unknown option '--layout', did you mean '--layouts'" convert --layout csr
wrong '--config belongs to step and model' gemm --config config.json
wrong '--batch belongs to step and model' convert --batch 2
wrong '--refresh belongs to step' model --refresh 10
wrong '--weights belongs to model' step --weights x.safetensors
wrong "--weights 'x.safetensors': config.json not found beside the file (use --config)" model --weights x.safetensors
wrong '--weights needs at most one --config or --shape' model --weights x.safetensors --config a.json --config b.json
wrong '--layouts stored belongs to --weights' model --layouts stored
wrong "--shape '2x768': expected LAYERSxHIDDENxVOCABULARY" step --shape 2x768
wrong "did you mean 'bert-base'" model --shape bert-bas
