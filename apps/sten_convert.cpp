// SPDX-License-Identifier: Apache-2.0
// sten-convert: flags -> ConvertOptions -> convert_checkpoint() or convert_batch().
#include "apps/batch_options.h"
#include "libsten/files/checkpoint/output_paths.h"

namespace groups = sten::app::groups;

int main(int argc, char** argv) {
  const sten::app::Program program = {
      "sten-convert",
      "Convert the tensors of a checkpoint between dense and sparse layouts.",
      "sten-convert pruned.safetensors -o small.safetensors --to bitmask",
      {{"Convert back to dense:", "sten-convert small.safetensors -o dense.safetensors --to dense"},
       {"Store each tensor in its smallest layout:",
        "sten-convert pruned.safetensors -o smallest.safetensors --to auto"},
       {"Fail with exit code 3 if the layout would drop a nonzero:",
        "sten-convert pruned.safetensors -o exact.safetensors --to nm:n=2,m=4 --lossless"},
       {"Halve a float32 model:", "sten-convert model -o small --type bf16"},
       {"Write a Hugging Face directory as GGUF:",
        "sten-convert model -o model.gguf --type q8_0"}}};
  return sten::app::run(program, argc, argv, [](CLI::App& app, const sten::app::Common& common) {
    auto o = std::make_shared<sten::ConvertOptions>();
    auto many = std::make_shared<sten::ManyInputs>();
    sten::app::add_inputs(app, *many, "Several inputs need --out-dir.");
    sten::app::add_output(app, o->output);
    sten::app::add_batch(app, *many);
    sten::app::add_parsed(
        app, "--to", o->to, sten::Spec::parse,
        fmt::format(
            "Target layout: dense, {} or auto\n"
            "- dense: converts every sparse tensor back.\n"
            "- bcsr:h=4,w=4: blocks of h rows and w columns.\n"
            "- nm:n=2,m=4[,axis=1], nmg:n=1,m=10,g=4[,axis=0][,fit=exact] and "
            "nmgv:n=1,m=4,g=2,v=32[,w=2][,axis=0][,fit=exact]: keep n of every m values, and "
            "prune the others. nmg and nmgv keep the most magnitude; fit=greedy is the paper's "
            "algorithm.\n"
            "- auto: the smallest lossless layout of each tensor.\n"
            "dims=ROW.COLUMN, as in csr:dims=1.2, selects the two dimensions of the matrix.",
            sten::app::sparse_layouts()))
        ->type_name("LAYOUT")
        ->group(groups::common);
    sten::app::add_type(app, o->output);
    app.add_flag("--lossless", o->lossless,
                 "Exit with 3, and write only reports, if a nonzero would be dropped")
        ->group(groups::checks);
    sten::app::add_device(app, o->device, "Tensors are converted there, with the same results.");
    sten::app::add_patterns(app, o->patterns);
    return [o, many, &common] {
      o->output.force = common.force;
      o->show_progress = common.show_progress();
      if (sten::app::is_batch(*many, o->output)) {
        sten::app::print_errors(*many, "sten-convert");
        return sten::convert_batch(*many, *o);
      }
      o->input = many->inputs.front();
      o->output.path = sten::output_for(o->input, o->output.path, o->output.writes_graph,
                                        sten::layout_in_names(*o));
      return sten::convert_checkpoint(*o);
    };
  });
}
