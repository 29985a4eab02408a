// sten-energy: flags -> EnergyOptions -> measure_energy() or energy_batch(); or another question,
// sweep_energy(), list_tensors(), diff_checkpoints().
#include "apps/batch_options.h"
#include "libsten/base/cuda.h"
#include "libsten/base/error.h"
#include "libsten/base/fallback.h"
#include "libsten/run/diff_checkpoints.h"
#include "libsten/run/energy_sweep.h"
#include "libsten/run/list_tensors.h"

namespace groups = sten::app::groups;
constexpr const char* of_sweeps = "Sweeps";

int main(int argc, char** argv) {
  const sten::app::Program program = {
      "sten-energy",
      "Says what pruning kept: sparsity, energy and bytes, per tensor and in total.",
      "sten-energy pruned.safetensors --against model.safetensors --min-energy 0.4",
      {{"For a program:", "sten-energy pruned.safetensors --json"},
       {"As a page with charts:", "sten-energy pruned.safetensors --report energy.html"},
       {"Every tensor of a file:", "sten-energy --list model.safetensors"},
       {"What is not the same in another file; ends with 3 if anything is not:",
        "sten-energy --diff model.safetensors pruned.safetensors"}}};
  return sten::app::run(program, argc, argv, [](CLI::App& app, const sten::app::Common& common) {
    auto o = std::make_shared<sten::EnergyOptions>();
    auto many = std::make_shared<sten::ManyInputs>();
    app.add_option("IN", many->inputs,
                   "A file (safetensors, PyTorch, ONNX), a HuggingFace directory or its index, or "
                   "- for standard "
                   "input; several print a line each, with its totals")
        ->required();
    app.add_option("--against", o->against,
                   "The original, or a directory with the original of each IN by its name: energy "
                   "is the sum of its magnitudes at the kept positions, over the sum of all of "
                   "them")
        ->type_name("FILE")
        ->group(groups::common);
    sten::app::allow_percent(
        app.add_option("--min-energy", o->min_energy,
                       "Fail with exit code 3 if the total energy is below X, 0 to 1"))
        ->type_name("X")
        ->group(groups::checks);
    sten::app::allow_percent(
        app.add_option(
            "--min-sparsity", o->min_sparsity,
            "Fail with exit code 3 if less than the fraction X of all is 0, 0 to 1; X of "
            "each tensor is rounded to whole elements, and what an n:m or n:m:g of that "
            "sparsity keeps in blocks at the edges is allowed"))
        ->type_name("X")
        ->group(groups::checks);
    app.add_option(
           "--require", o->require,
           "Fail with exit code 3 unless the tensors that PATTERN matches have the pattern "
           "SPEC, such as 2:4 or nmg:n=1,m=10,g=4[,axis=0], and name the first that break it; "
           "PATTERN=SPEC, repeatable")
        ->type_name("RULE")
        ->allow_extra_args(false)
        ->group(groups::checks);
    auto sweep = std::make_shared<sten::SweepOptions>();
    auto sweeps = std::make_shared<bool>(false);
    auto axis = std::make_shared<std::optional<sten::Index>>();
    app.add_flag("--sweep", *sweeps,
                 "Prune in memory to unstructured sparsities, n:m, n:m:g, also over tiles, and "
                 "blocks, and say what "
                 "energy each keeps at which sparsity")
        ->group(of_sweeps);
    app.add_option("--plot", sweep->plot, "Also write the sweep as a chart to FILE.svg")
        ->type_name("FILE")
        ->group(of_sweeps);
    app.add_option(
           "--axis", *axis,
           "Where n:m and n:m:g of the sweep run: 0 down columns, 1 along rows (default: as "
           "--structure of sten-prune has them, n:m 1 and n:m:g 0)")
        ->type_name("AXIS")
        ->group(of_sweeps);
    auto list = std::make_shared<bool>(false), diff = std::make_shared<bool>(false);
    app.add_flag("--list", *list,
                 "Every tensor, of any rank and dtype: shape, layout, bytes and sparsity")
        ->group(groups::common);
    app.add_flag(
           "--diff", *diff,
           "Of two inputs, A and B: tensors that one lacks, or that differ in shape, dtype or "
           "values, and how far; exit code 3 if any differ")
        ->group(groups::common);
    sten::app::add_keep_going(app, *many);
    sten::app::add_device(app, o->device, "Where sums are taken, with the same results");
    sten::app::add_patterns(app, o->patterns);
    return [o, many, sweep, sweeps, axis, list, diff, &common] {
      const std::vector<std::string>& inputs = many->inputs;
      sten::app::print_errors(*many, "sten-energy");
      o->show_progress = common.show_progress();
      const char* other = *sweeps ? "--sweep" : *list ? "--list" : *diff ? "--diff" : nullptr;
      if (*sweeps + *list + *diff > 1)
        sten::fail_usage("--sweep, --list and --diff exclude each other");
      if (other && (!o->against.empty() || o->min_energy || o->min_sparsity || !o->require.empty()))
        sten::fail_usage("{} excludes --against, --min-energy, --min-sparsity and --require",
                         other);
      if (!*sweeps && (!sweep->plot.empty() || *axis))
        sten::fail_usage("--plot and --axis belong to --sweep");
      if (*sweeps && inputs.size() > 1)
        sten::fail_usage("--sweep takes one input, got {}", inputs.size());
      if (*diff && inputs.size() != 2)
        sten::fail_usage("--diff takes two inputs, and there {} {}",
                         inputs.size() == 1 ? "is" : "are", inputs.size());
      o->input = inputs.front();
      if (*sweeps) {
        sweep->input = o->input;
        sweep->patterns = o->patterns;
        sweep->axis = *axis;
        sweep->device = o->device;
        sweep->force = common.force;
        sweep->show_progress = o->show_progress;
        return sten::sweep_energy(*sweep);
      }
      if (other)
        if (const sten::Device device = sten::use_device(o->device); device != sten::Device::cpu)
          sten::report_on_cpu(other, device);
      if (*list) return sten::list_tensors(*many, o->patterns, o->show_progress);
      if (*diff) return sten::diff_checkpoints(inputs[0], inputs[1], o->patterns, o->show_progress);
      return inputs.size() > 1 ? sten::energy_batch(*many, *o) : sten::measure_energy(*o);
    };
  });
}
