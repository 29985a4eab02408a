// sten-convert: flags -> ConvertOptions -> convert_checkpoint() or convert_batch().
#include "apps/batch_options.h"
#include "libsten/io/output_paths.h"

namespace groups = sten::app::groups;

int main(int argc, char** argv) {
  const sten::app::Program program = {
      "sten-convert",
      "Converts the tensors of a checkpoint between dense and sparse layouts.",
      "sten-convert pruned.safetensors -o small.safetensors --to bitmask",
      {{"Back, for programs that know dense tensors only:",
        "sten-convert small.safetensors -o dense.safetensors --to dense"},
       {"Each tensor in the layout in which it takes least:",
        "sten-convert pruned.safetensors -o smallest.safetensors --to auto"},
       {"To a layout that may not fit, without losing anything; ends with 3 if it does not fit:",
        "sten-convert pruned.safetensors -o exact.safetensors --to nm:n=2,m=4 --lossless"}}};
  return sten::app::run(program, argc, argv, [](CLI::App& app, const sten::app::Common& common) {
    auto o = std::make_shared<sten::ConvertOptions>();
    auto many = std::make_shared<sten::ManyInputs>();
    app.add_option("IN", many->inputs,
                   "A file (safetensors, PyTorch, ONNX), a HuggingFace directory or its index, or "
                   "- for standard "
                   "input; several with --out-dir")
        ->required();
    sten::app::add_output(app, o->output);
    sten::app::add_batch(app, *many);
    app.add_option(
           "--to", o->to,
           "Layout to convert to: dense (takes every sparse tensor back), masked, bitmask, "
           "csr, csc, coo, ell, bcsr:h=4,w=4, nm:n=2,m=4[,axis=1], "
           "nmg:n=1,m=10,g=4[,axis=0][,fit=exact] and "
           "nmgv:n=1,m=4,g=2,v=32[,w=2][,axis=0][,fit=exact], which keep n of m and prune what "
           "does not "
           "fit (nmg and nmgv keep the most magnitude; fit=greedy: by the paper's rule); "
           "dims=ROW.COLUMN "
           "names the dimensions of a matrix; auto: of each tensor the smallest of those that "
           "lose nothing")
        ->type_name("LAYOUT")
        ->required()
        ->group(groups::common);
    app.add_flag("--lossless", o->lossless,
                 "Fail with exit code 3, and write nothing but reports, rather than drop a "
                 "nonzero")
        ->group(groups::checks);
    sten::app::add_device(app, o->device, "Where tensors are converted, with the same results");
    sten::app::add_patterns(app, o->patterns);
    return [o, many, &common] {
      o->output.force = common.force;
      o->show_progress = common.show_progress();
      if (sten::app::is_batch(*many, o->output)) {
        sten::app::print_errors(*many, "sten-convert");
        return sten::convert_batch(*many, *o);
      }
      o->input = many->inputs.front();
      o->output.path = sten::output_for(o->input, o->output.path, o->output.writes_graph, o->to);
      return sten::convert_checkpoint(*o);
    };
  });
}
