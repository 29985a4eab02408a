// sten-energy: flags -> EnergyOptions -> measure_energy().
#include "libsten/run/energy.h"

#include "apps/main.h"

int main(int argc, char** argv) {
  const sten::app::Program program = {
      "sten-energy",
      "Says what pruning kept: sparsity, energy and bytes, per tensor and in total.",
      "sten-energy pruned.safetensors --against model.safetensors --min-energy 0.4",
      {{"For a program:", "sten-energy pruned.safetensors --json"},
       {"As a page with charts:", "sten-energy pruned.safetensors --report energy.html"}}};
  return sten::app::run(program, argc, argv, [](CLI::App& app, const sten::app::Common& common) {
    auto o = std::make_shared<sten::EnergyOptions>();
    app.add_option("IN", o->input,
                   "A safetensors file, a HuggingFace directory or its index, or - for standard "
                   "input")
        ->required();
    app.add_option("--against", o->against,
                   "The original: energy is the sum of its magnitudes at the kept positions, over "
                   "the sum of all of them")
        ->type_name("FILE");
    app.add_option("--min-energy", o->min_energy,
                   "Fail with exit code 3 if the total energy is below X, 0 to 1")
        ->type_name("X");
    sten::app::add_patterns(app, o->patterns);
    return [o, &common] {
      o->show_progress = common.show_progress();
      return sten::measure_energy(*o);
    };
  });
}
