// sten-bench: flags -> BenchOptions -> run_bench().
#include "libsten/bench/bench.h"

#include "apps/main.h"
#include "apps/ranks.h"
#include "libsten/base/memory_pool.h"
#include "libsten/comm/comm_mpi.h"

namespace groups = sten::app::groups;
constexpr const char *of_products = "Of gemm and convert", *of_models = "Of step and model";

int main(int argc, char** argv) {
  sten::app::Program program = {
      .name = "sten-bench",
      .purpose =
          "Measures sparse products and conversions, as ratios that hold on a busy machine "
          "too.",
      .example = "sten-bench gemm --shape 768x768x512 --layouts csr:sparsity=0.95 --repeats 3",
      .examples =
          {{"How long dense numbers take to a layout, for a program and as a picture:",
            "sten-bench convert --shape 96x160 --layouts nmg:n=2,m=4,g=4 --layouts "
            "csr:sparsity=0.9 --repeats 3 --report bench.json --report bench.svg"},
           {"Whether that became slower, which ends with 3:",
            "sten-bench convert --shape 96x160 --layouts nmg:n=2,m=4,g=4 --against bench.json "
            "--max-slowdown 1.2"},
           {"A linear layer, and eight of them in a row, on one thread and on two:",
            "sten-bench gemm --form linear --form chain --shape 96x160x64 --layouts "
            "csr:sparsity=0.9 --threads 1 --threads 2 --repeats 3"},
           {"Training steps of a small BERT, dense, masked and sparse:",
            "sten-bench step --shape 2x64x70 --batch 4 --window 32 --repeats 3"},
           {"What summing gradients over processes takes, dense and sparse; behind mpirun -n 4:",
            "sten-bench allreduce --shape 2x64x70 --repeats 3"}},
      .detail = "the dense library that was chosen",
      .has_total = false,
      .has_chart = true};
  program.rank = [] { return sten::mpi_launch().rank; };
  return sten::app::run(program, argc, argv, [](CLI::App& app, const sten::app::Common& common) {
    auto o = std::make_shared<sten::BenchOptions>();
    app.add_option(
           "BENCH", o->bench,
           "gemm: a matrix in a layout times a dense one; convert: dense to a layout, values "
           "and indices written; dispatch: what choosing an operator's implementation and "
           "taping it cost, beside the bare product of a linear layer; step: a model's training "
           "step, dense, masked and sparse; model: a model's forward pass, and "
           "its operators; allreduce: sums of gradients over the processes of mpirun")
        ->required();
    const auto list = [&](const char* name, auto& values, const char* type, const char* what) {
      return app.add_option(name, values, what)->type_name(type)->allow_extra_args(false);
    };
    list("--shape", o->shapes, "SHAPE",
         "MxKxN for gemm and dispatch, as 768x3072x4096, and RxK for convert, as 768x3072; "
         "bert-ffn-out "
         "(768x3072x4096, the paper's, default), bert-ffn-in (3072x768x4096) or bert-attention "
         "(768x768x4096); for step, model and allreduce LAYERSxHIDDENxVOCABULARY of a BERT, as "
         "2x768x30522 "
         "and 4x160x70 (default for step and allreduce) or bert-base (12x768x30522, default for "
         "model), or "
         "wrn-DEPTH-WIDTH and resnet-DEPTH, as wrn-16-8 and resnet-50; "
         "repeatable")
        ->group(groups::common);
    list("--config", o->configs, "FILE",
         "Of step and model: a BERT by its HuggingFace config.json; repeatable")
        ->group(of_models);
    app.add_option("--model", o->model,
                   "Of model: an ONNX model instead of a BERT, with numbers that fit its inputs")
        ->type_name("FILE")
        ->group(of_models);
    app.add_option("--weights", o->weights,
                   "Of model: the BERT's weights, a checkpoint, measured in the layouts that it is "
                   "stored in; a config.json beside it is --config (default: random ones)")
        ->type_name("FILE")
        ->group(of_models);
    app.add_option(
           "--batch", o->batch,
           "Of step and model: sequences (default 8, of a hidden size below 512: 32), or images "
           "(default 32, of wrn-10-1 128); of an ONNX model the open extents called batch, or the "
           "first ones (default 8)")
        ->type_name("N")
        ->check(CLI::Range(1, 1 << 20))
        ->group(of_models);
    app.add_option("--window", o->window,
                   "Of step and model: tokens of a sequence (default 128 for step, 512 for model, "
                   "or as many as the model has positions), or pixels a side of images (default "
                   "32); of an ONNX model the other open extents "
                   "(default 128)")
        ->type_name("N")
        ->check(CLI::Range(1, 1 << 20))
        ->group(of_models);
    app.add_option("--refresh", o->refresh,
                   "Of step: steps from one mask to the next where masks are selected anew "
                   "(default 100)")
        ->type_name("N")
        ->check(CLI::Range(2, 1 << 20))
        ->group(of_models);
    list(
        "--activations", o->activations, "LAYOUT",
        "Of step: an MLP of two layers instead of a BERT, its hidden activations in csr, csc, coo, "
        "bitmask, masked or bcsr:h=4,w=4, each with [sparsity=0.9], beside the dense one; --shape "
        "is INxHIDDENxOUT (default 768x3072x768), --batch rows (default 4096); repeatable")
        ->group(of_models);
    app.add_option("--transport", o->transport,
                   "Of step and allreduce: how gradients travel, float32 (default) or bfloat16")
        ->type_name("KIND")
        ->check(CLI::IsMember({"float32", "bfloat16"}))
        ->group(of_models);
    sten::app::add_device(app, o->device, "Of gemm, convert and step: where they run");
    list(
        "--layouts", o->layouts, "LAYOUT",
        "nmg:n=1,m=10,g=4[,axis=0][,fit=...], nm:n=2,m=4[,axis=1] and nmgv:n=1,m=4,g=2,v=32[,w=2], "
        "for gemm pruned to before, "
        "for convert as part of the conversion; csr, csc, coo, ell, bitmask, masked, "
        "bcsr:h=4,w=4, each of numbers that were pruned before to [sparsity=0.9]; of the weights "
        "of "
        "a file (--model, --weights) each with the zeros of the file, or pruned first to "
        "[sparsity=0.9]; repeatable "
        "(all but convert and dispatch measure dense in any case; default for convert: nmg of "
        "2:4:16, 1:10:4, 3:6:16, 1:4:16, 2:8:8; for step: of 1:4:4; for allreduce also csr and "
        "masked; for model: of 2:4:4, 1:4:4 "
        "and 1:10:4, or, with --weights that are sparse, stored: with their own zeros; of model: "
        "auto, the "
        "one that is fastest for each weight, whose zeros are those that it has)")
        ->group(groups::common);
    list("--form", o->forms, "FORM",
         "Of gemm: gemm, C[M,N] = A[M,K] B[K,N] (default); linear, Y[N,M] = X[N,K] A^T; chain, "
         "eight linears M <-> K over N tokens, per product; transposed, dX[N,K] = dY[N,M] A, and "
         "sampled, dA[M,K] = dC[M,N] B[K,N]^T at A's positions: how gradients go back; repeatable")
        ->check(CLI::IsMember({"gemm", "linear", "chain", "transposed", "sampled"}))
        ->group(of_products);
    list("--precision", o->precisions, "KIND",
         "Of gemm and model: float32, bf16, float16 or int8, what is multiplied; sums are of 32 "
         "bits; repeatable (default: float32, and dense also in bf16 where the processor "
         "multiplies it; dense float32, which ratios are to, is measured in any case). Of step on "
         "a device: float32 (default), tf32 or bf16, to which cuBLAS may round the factors of "
         "dense products")
        ->group(of_products);
    list("--input", o->inputs, "KIND",
         "Distribution of the numbers to convert: normal (default), student3, laplace or rowscaled "
         "(normal, rows times exp(0.5 N(0,1))); repeatable")
        ->check(CLI::IsMember({"normal", "student3", "laplace", "rowscaled"}))
        ->group(of_products);
    list("--threads", o->threads, "N", "Threads (default 1); repeatable")
        ->check(CLI::Range(1, 4096))
        ->group(groups::common);
    app.add_option("--repeats", o->repeats,
                   "Turns of every way that is compared, after one that does not count (default: "
                   "15, up to 101 for 3 s while ratios scatter by more than 4 %, as few as 5 where "
                   "they take more than 10 s)")
        ->type_name("N")
        ->check(CLI::Range(1, 10000))
        ->group(groups::common);
    app.add_option("--against", o->against,
                   "Fail with exit code 3 if a ratio became worse than in the "
                   "results FILE.json of an earlier run on this CPU and ISA")
        ->type_name("FILE")
        ->group(groups::checks);
    app.add_option("--max-slowdown", o->max_slowdown,
                   "How many times worse a ratio may be with --against, beyond what the spread of "
                   "both runs allows (default 1.1)")
        ->type_name("X")
        ->group(groups::checks);
    app.add_flag(
           "--fail-if-slower", o->fail_if_slower,
           "Of gemm and model: fail with exit code 3 if a layout is slower than dense by more "
           "than the spread of the measurement")
        ->group(groups::checks);
    return [o, &common] {
      o->seed = common.seed;
      return sten::app::in_ranks("sten-bench", {{"benchmark", o->bench}}, 1,
                                 [&](const auto& ranks) {
                                   sten::BenchOptions mine = *o;
                                   mine.ranks = ranks;
                                   if (mine.bench == "step") sten::enable_device_memory_pool();
                                   return sten::run_bench(mine);
                                 });
    };
  });
}
