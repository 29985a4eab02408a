// sten-train: flags -> TrainOptions -> train().
#include "libsten/run/train.h"

#include <algorithm>
#include <csignal>
#include <filesystem>

#include "apps/main.h"
#include "apps/ranks.h"
#include "libsten/base/error.h"
#include "libsten/base/interrupt.h"
#include "libsten/base/memory_pool.h"
#include "libsten/base/text.h"
#include "libsten/comm/comm_mpi.h"
#include "libsten/io/interrupted.h"
#include "libsten/run/train_preview.h"

namespace groups = sten::app::groups;

namespace {

sten::Outcome trained(sten::TrainOptions& o, const sten::app::Common& common) {
  o.show_progress = common.show_progress();
  if (!common.quiet)
    o.say = [](const std::string& text) { sten::app::print_line("sten-train", text); };
  sten::set_resume_hint(
      fmt::format("--resume goes on after the last checkpoint in {}", sten::quote(o.out)));
  sten::enlarge_memory_pool();
  sten::enable_device_memory_pool();
  int signal = 0;
  sten::TrainOutcome result;
  {
    const sten::NotedInterrupts interrupts;
    o.stop = [] { return sten::NotedInterrupts::noted() != 0; };
    result = sten::train(o);
    signal = sten::NotedInterrupts::noted();
  }
  if (result.stopped) {
    // One that came to another rank ends this one, too. MPI does not come to its end: mpirun, which
    // may have sent the signal, waits for no such thing.
    for (const std::uint64_t s : o.ranks->gather(static_cast<std::uint64_t>(signal)))
      signal = std::max(signal, static_cast<int>(s));
    sten::set_resume_hint(fmt::format("step {} is saved; --resume goes on", *result.stopped));
    raise(signal);  // ends the process as ever
  }
  return std::move(result.outcome);
}

}  // namespace

int main(int argc, char** argv) {
  sten::app::Program program = {
      "sten-train",
      "Trains a model as a recipe says, and makes its weights sparse on the way.",
      "sten-train recipe.json --out run",
      {{"What it would come to, and what it takes:", "sten-train recipe.json --dry-run"},
       {"Go on with a run that was interrupted, or has begun elsewhere:",
        "sten-train recipe.json --out run --resume"},
       {"The same with other values, and with numbers for a program:",
        "sten-train recipe.json --out faster --set optimizer.rate=0.004 --set steps=900 --json"}},
      "the dense library that was chosen"};
  program.environment = {{"STEN_RANK_TIMEOUT",
                          "Under mpirun, the seconds without a sign of a rank after which the "
                          "others end (20; 60 for the first one)."},
                         {"STEN_MPI_CUDA",
                          "Whether ranks with a CUDA device give large gradients to a CUDA-aware "
                          "MPI from the device's memory, 1, or from the host's, 0 (what is "
                          "measured to be faster)."}};
  program.rank = [] { return sten::mpi_launch().rank; };
  return sten::app::run(program, argc, argv, [](CLI::App& app, const sten::app::Common& common) {
    auto o = std::make_shared<sten::TrainOptions>();
    app.add_option("RECIPE", o->recipe, "What to train on what, and what becomes sparse when: JSON")
        ->required();
    app.add_option("--out", o->out,
                   "Directory that keeps the run: metrics, checkpoints, and at the end the model")
        ->type_name("DIR")
        ->group(groups::common);
    app.add_option("--set", o->set,
                   "Another value in the recipe: optimizer.rate=5e-4 or /sparsity/0/save=csr, "
                   "null takes a key away; repeatable")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false)
        ->group(groups::common);
    app.add_flag("--resume", o->resume,
                 "Go on after the last checkpoint in DIR; without one begin. The same bytes as "
                 "without an interruption, at the same --threads")
        ->group(groups::common);
    sten::app::add_device(app, o->device,
                          "Where steps are computed; what it lacks runs on the CPU, and says so");
    auto dry_run = std::make_shared<bool>(false);
    app.add_flag("--dry-run", *dry_run,
                 "Print what the recipe comes to, and train nothing: what is sparse when, steps, "
                 "parameters, and an estimate of the memory")
        ->group(groups::common);
    return [o, dry_run, &app, &common] {
      if (*dry_run && o->resume) sten::fail_usage("--dry-run and --resume exclude each other");
      if (o->out.empty() && !*dry_run)
        sten::fail_usage("--out is missing: the directory that keeps the run");
      // Before what was set, so that the recipe's own key wins.
      if (app.get_option("--seed")->count())
        o->set.insert(o->set.begin(), "seed=" + std::to_string(common.seed));
      o->force = common.force;
      const auto given = [](bool is) { return is ? "given" : "not given"; };
      const sten::app::GivenOptions same{
          {"--dry-run", given(*dry_run)},
          {"--resume", given(o->resume)},
          {"--out", std::filesystem::path(o->out).lexically_normal().string()}};
      return sten::app::in_ranks("sten-train", same, common.threads, [&](const auto& ranks) {
        sten::TrainOptions mine = *o;
        mine.ranks = ranks;
        return *dry_run ? sten::preview_training(mine) : trained(mine, common);
      });
    };
  });
}
