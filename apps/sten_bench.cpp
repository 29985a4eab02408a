// sten-bench: flags -> BenchOptions -> run_bench().
#include "libsten/run/bench/bench.h"

#include "apps/main.h"

int main(int argc, char** argv) {
  const sten::app::Program program = {
      .name = "sten-bench",
      .purpose =
          "Measures how fast conversions to sparse layouts are, as ratios that hold on a "
          "busy machine too.",
      .example = "sten-bench convert --shape 768x3072 --layouts nmg:n=1,m=10,g=4 --repeats 3",
      .examples = {{"For a program, and as a picture:",
                    "sten-bench convert --shape 96x160 --layouts nmg:n=2,m=4,g=4 --layouts "
                    "csr:sparsity=0.9 --repeats 3 -o bench.json -o bench.svg"},
                   {"On one thread and on two:",
                    "sten-bench convert --shape 96x160 --layouts bitmask --threads 1 --threads 2 "
                    "--repeats 3"}},
      .detail = "details",
      .has_total = false};
  return sten::app::run(program, argc, argv, [](CLI::App& app, const sten::app::Common& common) {
    auto o = std::make_shared<sten::BenchOptions>();
    app.add_option("BENCH", o->bench, "convert: dense to a layout, values and indices written")
        ->required();
    const auto list = [&](const char* name, auto& values, const char* type, const char* what) {
      return app.add_option(name, values, what)->type_name(type)->allow_extra_args(false);
    };
    list(
        "--shape", o->shapes, "SHAPE",
        "Rows and columns, as 768x3072; bert-ffn-out (768x3072, the paper's, default), bert-ffn-in "
        "(3072x768) or bert-attention (768x768); repeatable");
    list("--layouts", o->layouts, "LAYOUT",
         "nmg:n=1,m=10,g=4[,axis=0][,fit=...] and nm:n=2,m=4, pruned to as part of the conversion; "
         "csr, csc, coo, ell, bitmask, masked, bcsr:h=4,w=4, each of numbers that were pruned "
         "before "
         "to [sparsity=0.9]; repeatable (default: nmg of 2:4:16, 1:10:4, 3:6:16, 1:4:16, 2:8:8)");
    list("--input", o->inputs, "KIND",
         "Distribution of the numbers: normal (default), student3, laplace or rowscaled (normal, "
         "rows times exp(0.5 N(0,1))); repeatable")
        ->check(CLI::IsMember({"normal", "student3", "laplace", "rowscaled"}));
    list("--threads", o->threads, "N", "Threads (default 1); repeatable")
        ->check(CLI::Range(1, 4096))
        ->group(sten::app::common_options);
    app.add_option("--repeats", o->repeats,
                   "Turns of every way that is compared, after one that does not count (default: "
                   "15, up to 101 for 3 s while ratios scatter by more than 4 %, as few as 5 where "
                   "they take more than 10 s)")
        ->type_name("N")
        ->check(CLI::Range(1, 10000));
    list("-o,--output", o->outputs, "FILE",
         "Also write the results to FILE.json, .csv or .md, or a chart of ratios to FILE.svg; "
         "repeatable");
    return [o, &common] {
      o->seed = common.seed;
      o->force = common.force;
      return sten::run_bench(*o);
    };
  });
}
