// SPDX-License-Identifier: Apache-2.0
// sten-energy: flags -> EnergyOptions -> measure_energy() or energy_batch(); with --sweep, --list or
// --diff sweep_energy(), list_tensors() or diff_checkpoints().
#include "apps/batch_options.h"
#include "libsten/core/base/cuda.h"
#include "libsten/core/base/error.h"
#include "libsten/core/base/fallback.h"
#include "libsten/programs/batch/list_tensors.h"
#include "libsten/programs/energy/diff_checkpoints.h"
#include "libsten/programs/energy/energy_sweep.h"

namespace groups = sten::app::groups;
constexpr const char* sweep_group = "Sweep";

int main(int argc, char** argv) {
  const sten::app::Program program = {
      "sten-energy",
      "Measure sparsity, energy and bytes of a checkpoint, per tensor and in total.",
      "sten-energy pruned.safetensors --against model.safetensors --min-energy 0.4",
      {{"Print JSON:", "sten-energy pruned.safetensors --json"},
       {"Write an HTML page with charts:", "sten-energy pruned.safetensors --report energy.html"},
       {"List the tensors of a file:", "sten-energy --list model.safetensors"},
       {"Compare two files; exits with 3 if they differ:",
        "sten-energy --diff model.safetensors pruned.safetensors"}}};
  return sten::app::run(program, argc, argv, [](CLI::App& app, const sten::app::Common& common) {
    auto o = std::make_shared<sten::EnergyOptions>();
    auto many = std::make_shared<sten::ManyInputs>();
    sten::app::add_inputs(app, *many, "Several inputs print one line each, with their totals.");
    app.add_option("--against", o->against,
                   "Original checkpoint, or a directory with the original of each IN under its "
                   "name\n"
                   "The energy is the sum of the original's magnitudes at the kept positions, "
                   "divided by the sum of all magnitudes.")
        ->type_name("FILE")
        ->group(groups::common);
    sten::app::allow_percent(
        app.add_option("--min-energy", o->min_energy,
                       "Exit with 3 if the total energy, the kept fraction of the "
                       "original's magnitude, is below X, 0 to 1"))
        ->type_name("X")
        ->group(groups::checks);
    sten::app::allow_percent(
        app.add_option("--min-sparsity", o->min_sparsity,
                       "Exit with 3 if the total sparsity is below X, 0 to 1\n"
                       "The zeros that X requires of a tensor are rounded to a whole number. A "
                       "tensor in n:m or n:m:g of at least that sparsity may keep more elements "
                       "in the partial blocks at its edges."))
        ->type_name("X")
        ->group(groups::checks);
    app.add_option("--require", o->require,
                   "PATTERN=SPEC: exit with 3 unless the tensors that match PATTERN have the "
                   "structure SPEC; repeatable\n"
                   "SPEC is 2:4, nmg:n=1,m=10,g=4[,axis=0] and so on. The first violations are "
                   "named.")
        ->type_name("RULE")
        ->allow_extra_args(false)
        ->group(groups::checks);
    auto sweep = std::make_shared<sten::SweepOptions>();
    auto sweeps = std::make_shared<bool>(false);
    auto axis = std::make_shared<std::optional<sten::Index>>();
    app.add_flag("--sweep", *sweeps,
                 "Report energy and sparsity of the input after pruning to each structure\n"
                 "Structures are unstructured, n:m, n:m:g (also of tiles) and blocks. Pruning "
                 "happens in memory.")
        ->group(sweep_group);
    app.add_option("--plot", sweep->plot, "Also write the sweep as a chart to FILE.svg")
        ->type_name("FILE")
        ->group(sweep_group);
    app.add_option("--axis", *axis,
                   "Axis of n:m and n:m:g in the sweep: 0 (down columns) or 1 (along rows)\n"
                   "Default: 1 for n:m and 0 for n:m:g, as for sten-prune --structure.")
        ->type_name("AXIS")
        ->group(sweep_group);
    auto list = std::make_shared<bool>(false), diff = std::make_shared<bool>(false);
    app.add_flag("--list", *list,
                 "List every tensor of any rank and dtype: shape, layout, bytes and sparsity")
        ->group(groups::common);
    app.add_flag("--diff", *diff,
                 "Compare two inputs: missing tensors, and different shapes, dtypes and values\n"
                 "Exits with 3 if any tensor differs.")
        ->group(groups::common);
    sten::app::add_keep_going(app, *many);
    sten::app::add_device(app, o->device, "Sums are computed there, with the same results.");
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
        sten::fail_usage("--sweep: expected 1 input, got {}", inputs.size());
      if (*diff && inputs.size() != 2)
        sten::fail_usage("--diff: expected 2 inputs, got {}", inputs.size());
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
