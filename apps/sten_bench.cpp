// SPDX-License-Identifier: Apache-2.0
// sten-bench: flags -> BenchOptions -> run_bench().
#include "libsten/programs/bench/bench.h"

#include "apps/main.h"
#include "apps/ranks.h"
#include "libsten/core/base/memory_pool.h"
#include "libsten/training/comm/comm_mpi.h"

namespace groups = sten::app::groups;
constexpr const char *of_products = "Options of gemm and convert",
                     *of_models = "Options of step, model and allreduce";

int main(int argc, char** argv) {
  sten::app::Program program = {
      .name = "sten-bench",
      .purpose =
          "Measure sparse against dense: products, conversion, training steps and models, as "
          "ratios.",
      .example = "sten-bench gemm --shape 768x768x512 --layouts csr:sparsity=0.95 --repeats 3",
      .examples =
          {{"Time the conversion from dense, and write JSON and a chart:",
            "sten-bench convert --shape 96x160 --layouts nmg:n=2,m=4,g=4 --layouts "
            "csr:sparsity=0.9 --repeats 3 --report bench.json --report bench.svg"},
           {"Compare with the earlier result; exits with 3 if slower:",
            "sten-bench convert --shape 96x160 --layouts nmg:n=2,m=4,g=4 --against bench.json "
            "--max-slowdown 1.2"},
           {"Time a linear layer, and eight in a row, on one thread and on two:",
            "sten-bench gemm --form linear --form chain --shape 96x160x64 --layouts "
            "csr:sparsity=0.9 --threads 1 --threads 2 --repeats 3"},
           {"Time training steps of a small BERT, dense, masked and sparse:",
            "sten-bench step --shape 2x64x70 --batch 4 --window 32 --repeats 3"},
           {"Time the all-reduce of gradients, dense and sparse (behind mpirun -n 4):",
            "sten-bench allreduce --shape 2x64x70 --repeats 3"}},
      .rare = {"--weights", "--refresh", "--activations", "--transport", "--input"},
      .verbose_adds = "the selected dense library",
      .has_total = false,
      .is_o_report = true};
  program.rank = [] { return sten::mpi_launch().rank; };
  return sten::app::run(program, argc, argv, [](CLI::App& app, const sten::app::Common& common) {
    auto o = std::make_shared<sten::BenchOptions>();
    app.add_option(
           "BENCH", o->bench,
           "Benchmark: gemm, convert, dispatch, step, model or allreduce\n"
           "- gemm: product of a sparse and a dense matrix.\n"
           "- convert: conversion from dense to a layout, with values and indices written.\n"
           "- dispatch: overhead of dispatch and taping, beside the bare product of a linear "
           "layer.\n"
           "- step: training step of a model, dense, masked and sparse.\n"
           "- model: forward pass of a model, and its operators.\n"
           "- allreduce: sum of gradients over the ranks of mpirun.")
        ->required();
    const auto list = [&](const char* name, auto& values, const char* type, const char* text) {
      return app.add_option(name, values, text)->type_name(type)->allow_extra_args(false);
    };
    list("--shape", o->shapes, "SHAPE",
         "MxKxN (gemm, dispatch), RxK (convert), LAYERSxHIDDENxVOCABULARY of a BERT (others), or a "
         "name such as bert-ffn-in or resnet-50; repeatable\n"
         "- gemm, convert, dispatch: bert-ffn-out (768x3072x4096 as in the paper; default), "
         "bert-ffn-in (3072x768x4096), bert-attention (768x768x4096), or numbers as in "
         "768x3072x4096 and 768x3072.\n"
         "- step, allreduce, model: 4x160x70 (default of step and allreduce), bert-base "
         "(12x768x30522; default of model), wrn-DEPTH-WIDTH as in wrn-16-8, resnet-DEPTH as in "
         "resnet-50, or numbers as in 2x768x30522.")
        ->group(groups::common);
    list("--config", o->configs, "FILE",
         "BERT by its Hugging Face config.json (step, model); repeatable")
        ->group(of_models);
    app.add_option("--model", o->model, "ONNX model instead of a BERT, with random inputs (model)")
        ->type_name("FILE")
        ->group(of_models);
    app.add_option("--weights", o->weights,
                   "Checkpoint with the weights of the BERT (model; default: random weights)\n"
                   "Weights are measured in their stored layouts. Without --config, a config.json "
                   "beside the file describes the model.")
        ->type_name("FILE")
        ->group(of_models);
    app.add_option(
           "--batch", o->batch,
           "Sequences, images or rows per batch\n"
           "Default: 8 sequences, or 32 for a hidden size below 512; 32 images, or 128 for "
           "wrn-10-1. For an ONNX model: extent of the symbolic dimensions called batch, or "
           "of the first dimensions if none is called so (default 8).")
        ->type_name("N")
        ->check(CLI::Range(1, 1 << 20))
        ->group(of_models);
    app.add_option("--window", o->window,
                   "Tokens per sequence, or pixels per side of an image\n"
                   "Default: 128 tokens for step and 512 for model, at most the positions of the "
                   "model; 32 pixels. For an ONNX model: extent of the other symbolic dimensions "
                   "(default 128).")
        ->type_name("N")
        ->check(CLI::Range(1, 1 << 20))
        ->group(of_models);
    app.add_option("--refresh", o->refresh,
                   "Steps between two selections of a mask (step; default 100)")
        ->type_name("N")
        ->check(CLI::Range(2, 1 << 20))
        ->group(of_models);
    list(
        "--activations", o->activations, "LAYOUT",
        "Two-layer MLP with sparse hidden activations instead of a BERT (step); repeatable\n"
        "LAYOUT is csr, csc, coo, bitmask, masked or bcsr:h=4,w=4, each with [sparsity=0.9]; dense "
        "is always measured. --shape is INxHIDDENxOUT (default 768x3072x768), --batch the number "
        "of rows (default 4096).")
        ->group(of_models);
    app.add_option("--transport", o->transport,
                   "Data type of exchanged gradients: float32 (default) or bfloat16 (step, "
                   "allreduce)")
        ->type_name("KIND")
        ->check(CLI::IsMember({"float32", "bfloat16"}))
        ->group(of_models);
    sten::app::add_device(app, o->device, "For gemm, convert and step.");
    list("--layouts", o->layouts, "LAYOUT",
         "Layout to measure, as in nmg:n=1,m=10,g=4 or csr:sparsity=0.9; repeatable\n"
         "- nmg:n=1,m=10,g=4[,axis=0][,fit=...], nm:n=2,m=4[,axis=1] and "
         "nmgv:n=1,m=4,g=2,v=32[,w=2]: pruned before gemm, and as part of convert.\n"
         "- csr, csc, coo, ell, bitmask, masked and bcsr:h=4,w=4: of values pruned to "
         "[sparsity=0.9]. Without sparsity=, weights of a file (--model, --weights) are not "
         "pruned and keep their own zeros.\n"
         "- stored (model): weights of a file in their layouts.\n"
         "- auto (model): the fastest layout for each weight, without pruning it.\n"
         "Defaults: convert: nmg of 2:4:16, 1:10:4, 3:6:16, 1:4:16 and 2:8:8; step: nmg of 1:4:4; "
         "allreduce: also csr and masked; model: nmg of 2:4:4, 1:4:4 and 1:10:4, or stored for "
         "sparse --weights. Dense is always measured, except by convert and dispatch.")
        ->group(groups::common);
    list("--form", o->forms, "FORM",
         "Form of gemm: gemm (default), linear, chain, transposed or sampled; repeatable\n"
         "- gemm: C[M,N] = A[M,K] B[K,N].\n"
         "- linear: Y[N,M] = X[N,K] A^T.\n"
         "- chain: eight linear layers M <-> K over N tokens; times are per product.\n"
         "- transposed: dX[N,K] = dY[N,M] A, the gradient of the input.\n"
         "- sampled: dA[M,K] = dC[M,N] B[K,N]^T at the nonzeros of A, the gradient of the weight.")
        ->check(CLI::IsMember({"gemm", "linear", "chain", "transposed", "sampled"}))
        ->group(of_products);
    list("--precision", o->precisions, "KIND",
         "Precision of factors: float32 (default), bf16, float16 or int8 (gemm, model); float32 "
         "(default), bf16 or tf32 (step on a GPU); repeatable\n"
         "Sums have 32 bits. By default dense is also measured in bf16 where the processor has "
         "such products. Ratios refer to dense float32, which is always measured.\n"
         "For step, cuBLAS may round the factors of dense products to tf32 or bf16.")
        ->group(groups::common);
    list("--input", o->inputs, "KIND",
         "Distribution of the values (convert): normal (default), student3, laplace or rowscaled; "
         "repeatable\n"
         "rowscaled multiplies each row of normal values by exp(0.5 N(0,1)).")
        ->check(CLI::IsMember({"normal", "student3", "laplace", "rowscaled"}))
        ->group(of_products);
    list("--threads", o->threads, "N", "Threads (default 1); repeatable")
        ->check(CLI::Range(1, 4096))
        ->group(groups::common);
    app.add_option(
           "--repeats", o->repeats,
           "Timed repetitions per variant, after one warm-up (default 15)\n"
           "The default grows up to 101, for at most 3 s, while ratios scatter by more than "
           "4 %, and shrinks to 5 where repetitions take more than 10 s.")
        ->type_name("N")
        ->check(CLI::Range(1, 10000))
        ->group(groups::common);
    app.add_option("--against", o->against,
                   "Exit with 3 if a ratio is worse than in an earlier result (FILE.json)\n"
                   "The earlier result must be of the same CPU and ISA.")
        ->type_name("FILE")
        ->group(groups::checks);
    app.add_option("--max-slowdown", o->max_slowdown,
                   "Factor by which a ratio may be worse with --against (default 1.1)\n"
                   "A difference within the spread of both runs is always allowed.")
        ->type_name("X")
        ->group(groups::checks);
    app.add_flag("--fail-if-slower", o->fail_if_slower,
                 "Exit with 3 if a layout is measurably slower than dense (gemm, model)\n"
                 "This means that the 95 % confidence interval of the ratio is below 1; with fewer "
                 "than six repetitions, that all ratios are.")
        ->group(groups::checks);
    return [o, &common] {
      o->seed = common.seed;
      return sten::app::in_ranks("sten-bench",
                                 {{"benchmark", o->bench}, sten::app::given_extensions(common)}, 1,
                                 [&](const auto& ranks) {
                                   sten::BenchOptions mine = *o;
                                   mine.ranks = ranks;
                                   if (mine.bench == "step") sten::enable_device_memory_pool();
                                   return sten::run_bench(mine);
                                 });
    };
  });
}
