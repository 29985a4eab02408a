// sten-prune: flags -> PruneOptions -> prune().
#include "libsten/run/prune.h"

#include "apps/main.h"
#include "libsten/base/error.h"

int main(int argc, char** argv) {
  const sten::app::Program program = {
      "sten-prune", "Prunes the weights of a checkpoint by magnitude, one shot, tensor by tensor.",
      "sten-prune model.safetensors -o pruned.safetensors --sparsity 0.9 --to bitmask"};
  return sten::app::run(program, argc, argv, [](CLI::App& app, const sten::app::Common& common) {
    auto o = std::make_shared<sten::PruneOptions>();
    sten::app::add_input_output(app, o->input, o->output);
    app.add_option("--sparsity", o->sparsity, "Fraction of each tensor's weights to remove, 0 to 1")
        ->type_name("X");
    app.add_option("--method", o->method,
                   "What goes first: magnitude (smallest; default), random (each with probability "
                   "X), threshold (all below --at)")
        ->type_name("METHOD");
    app.add_option("--at", o->at, "Smallest magnitude that --method threshold keeps")
        ->type_name("X");
    app.add_option(
           "--structure", o->structure,
           "Which patterns are allowed: unstructured (default), nm:n=2,m=4[,axis=1] (n kept "
           "of every m along a row), nmg:n=1,m=10,g=4[,axis=0] (n kept of m, patterns in "
           "groups of g). With nm and nmg --sparsity is 1 - n/m and can be left out")
        ->type_name("SPEC");
    app.add_option("--to", o->to,
                   "Layout of the pruned tensors: dense (default), masked, bitmask, csr, nm:n=,m=, "
                   "nmg:n=,m=,g=; nm and nmg alone take the numbers of --structure")
        ->type_name("LAYOUT");
    sten::app::add_patterns(app, o->patterns);
    app.add_option("--min-energy", o->min_energy,
                   "Fail with exit code 3, and write nothing, if less of the total magnitude is "
                   "kept, 0 to 1")
        ->type_name("X");
    return [o, &common] {
      if (o->output.path.empty() && !o->output.dry_run)
        sten::fail_usage("-o is missing: the file to write, or --dry-run");
      o->output.force = common.force;
      o->seed = common.seed;
      o->show_progress = common.show_progress();
      return sten::prune(*o);
    };
  });
}
