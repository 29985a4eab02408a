// SPDX-License-Identifier: Apache-2.0
// A program that mpirun may start as several ranks.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "apps/main.h"
#include "libsten/programs/rewrite/rewrite.h"
#include "libsten/training/comm/communicator.h"

namespace sten::app {

// Names and values of options.
using GivenOptions = std::vector<std::pair<std::string, std::string>>;
// The files of --load.
GivenOptions::value_type given_extensions(const Common& common);

// Calls f(ranks) in each rank, once all ranks run the same program with the same `options`. Each rank
// has --threads threads; by default the processors are divided among the ranks of a machine. An error
// of all ranks is printed by rank 0, and each rank throws an Error without text; an error of one rank
// ends all processes with its line and its exit code.
Outcome in_ranks(const char* program, const GivenOptions& options, int threads,
                 const std::function<Outcome(const std::shared_ptr<Communicator>&)>& f);

}  // namespace sten::app
