// SPDX-License-Identifier: Apache-2.0
#include "apps/drop_options.h"

#include <algorithm>

#include "apps/program.h"
#include "libsten/core/base/error.h"

namespace sten::app {

void add_drop(CLI::App& app, DropOptions& o, const char* group) {
  app.add_option("--drop-layers", o.layers,
                 "Remove the N layers that change their inputs least\n"
                 "Of a Hugging Face directory of a causal language model. The model runs on the "
                 "data of --calibrate; a layer's influence is 1 - the mean cosine of its inputs "
                 "and outputs. The other layers are numbered again, also in config.json.")
      ->type_name("N")
      ->group(group);
  app.add_option("--drop-experts", o.experts,
                 "Remove the N least used experts of each mixture\n"
                 "As --drop-layers: the experts with the smallest sums of router weights on the "
                 "data of --calibrate, with their rows of the router.")
      ->type_name("N")
      ->group(group);
}

void refuse_pruning_flags(const CLI::App& app, const DropOptions& o) {
  static constexpr std::string_view allowed[] = {
      "--output",           "--dry-run",     "--force",        "--calibrate", "--calibrate-samples",
      "--calibrate-window", "--drop-layers", "--drop-experts", "--report",    "--json"};
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() == 0 || option->get_positional() || option->get_group() == groups::general)
      continue;
    const std::string name = "--" + option->get_lnames().front();
    if (std::ranges::find(allowed, name) == std::end(allowed))
      fail_usage("{} and {} exclude each other (run sten-prune once for each)", o.flag(), name);
  }
}

}  // namespace sten::app
