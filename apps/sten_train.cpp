// SPDX-License-Identifier: Apache-2.0
// sten-train: flags -> TrainOptions -> train().
#include "libsten/programs/train/train.h"

#include <algorithm>
#include <csignal>
#include <filesystem>

#include "apps/main.h"
#include "apps/ranks.h"
#include "libsten/core/base/error.h"
#include "libsten/core/base/interrupt.h"
#include "libsten/core/base/memory_pool.h"
#include "libsten/core/base/text.h"
#include "libsten/files/system/interrupted.h"
#include "libsten/programs/train/train_preview.h"
#include "libsten/training/comm/comm_mpi.h"

namespace groups = sten::app::groups;

namespace {

sten::Outcome trained(sten::TrainOptions& o, const sten::app::Common& common) {
  o.show_progress = common.show_progress();
  if (!common.quiet)
    o.say = [](const std::string& text) { sten::app::print_line("sten-train", text); };
  sten::set_resume_hint(
      fmt::format("--resume continues after the last checkpoint in {}", sten::quote(o.out)));
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
    // A signal to any rank ends all of them. MPI is not finalized: mpirun, which may have sent the
    // signal, does not wait for that.
    for (const std::uint64_t s : o.ranks->gather(static_cast<std::uint64_t>(signal)))
      signal = std::max(signal, static_cast<int>(s));
    sten::set_resume_hint(fmt::format("step {} is saved; --resume continues", *result.stopped));
    raise(signal);  // ends the process
  }
  return std::move(result.outcome);
}

}  // namespace

int main(int argc, char** argv) {
  sten::app::Program program = {
      "sten-train",
      "Train a model by a recipe, with sparse weights.",
      "sten-train recipe.json --out run",
      {{"Print the sparsity schedule and an estimate of the memory:",
        "sten-train recipe.json --dry-run"},
       {"Continue an interrupted run:", "sten-train recipe.json --out run --resume"},
       {"Override values of the recipe, and print JSON:",
        "sten-train recipe.json --out faster --set optimizer.rate=0.004 --set steps=900 --json"}},
      {},
      "the selected dense library"};
  program.environment = {{"STEN_RANK_TIMEOUT",
                          "Under mpirun: seconds without a sign of life of a rank, after which "
                          "the other ranks end (default 20; 60 for the first sign)."},
                         {"STEN_MPI_CUDA",
                          "1: ranks pass large gradients to a CUDA-aware MPI in device memory; "
                          "0: in host memory (default: the faster one, measured)."}};
  program.rank = [] { return sten::mpi_launch().rank; };
  return sten::app::run(program, argc, argv, [](CLI::App& app, const sten::app::Common& common) {
    auto o = std::make_shared<sten::TrainOptions>();
    app.add_option("RECIPE", o->recipe,
                   "JSON file with the model, data, optimizer and sparsity schedule")
        ->required();
    app.add_option("--out", o->out, "Directory for metrics, checkpoints and the trained model")
        ->type_name("DIR")
        ->group(groups::common);
    app.add_option("--set", o->set,
                   "Override a value of the recipe, as in optimizer.rate=5e-4; repeatable\n"
                   "A JSON pointer is accepted, too: /sparsity/0/save=csr. The value null removes "
                   "the key.")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false)
        ->group(groups::common);
    app.add_flag("--resume", o->resume,
                 "Continue after the last checkpoint in DIR, or start if DIR has none\n"
                 "At the same --threads, the result has the same bytes as an uninterrupted run.")
        ->group(groups::common);
    sten::app::add_device(app, o->device,
                          "Steps are computed there. Operators without an implementation for the "
                          "device run on the CPU, with a warning.");
    auto dry_run = std::make_shared<bool>(false);
    app.add_flag("--dry-run", *dry_run,
                 "Print the sparsity schedule and an estimate of the memory; train nothing\n"
                 "Also prints the steps, the parameters, and the implementation of each operator.")
        ->group(groups::common);
    return [o, dry_run, &app, &common] {
      if (*dry_run && o->resume) sten::fail_usage("--dry-run and --resume exclude each other");
      if (o->out.empty() && !*dry_run) sten::fail_usage("--out: missing output directory");
      // Precedes the overrides of --set, so that --set seed=N wins.
      if (app.get_option("--seed")->count())
        o->set.insert(o->set.begin(), "seed=" + std::to_string(common.seed));
      o->force = common.force;
      const auto given = [](bool is) { return is ? "given" : "not given"; };
      const sten::app::GivenOptions same{
          {"--dry-run", given(*dry_run)},
          {"--resume", given(o->resume)},
          {"--out", std::filesystem::path(o->out).lexically_normal().string()},
          sten::app::given_extensions(common)};
      return sten::app::in_ranks("sten-train", same, common.threads, [&](const auto& ranks) {
        sten::TrainOptions mine = *o;
        mine.ranks = ranks;
        return *dry_run ? sten::preview_training(mine) : trained(mine, common);
      });
    };
  });
}
