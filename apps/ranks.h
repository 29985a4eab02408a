// A program that mpirun may start several times, to work together.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "libsten/comm/communicator.h"
#include "libsten/run/rewrite.h"

namespace sten::app {

// Options by name, and what each was given.
using GivenOptions = std::vector<std::pair<std::string, std::string>>;

// f(ranks) of each rank, once all of them run the same program with the same `options`: those by which
// it is decided what ranks do together. Ranks have the threads that --threads names, else the processors are shared
// out. Of an error that all ranks have, rank 0 prints the line, and each throws an Error without text;
// one of a rank alone ends all processes with its line and its exit code.
Outcome in_ranks(const char* program, const GivenOptions& options, int threads,
                 const std::function<Outcome(const std::shared_ptr<Communicator>&)>& f);

}  // namespace sten::app
