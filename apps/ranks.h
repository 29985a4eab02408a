// A program that mpirun may start several times, to work together.
#pragma once
#include <functional>
#include <memory>

#include "libsten/comm/communicator.h"
#include "libsten/run/rewrite.h"

namespace sten::app {

// f(ranks) of each rank. Ranks have the threads that --threads names, else the processors are shared
// out. Of an error that all ranks have, rank 0 prints the line, and each throws an Error without text;
// one of a rank alone ends all processes with its line and its exit code.
Outcome in_ranks(const char* program, int threads,
                 const std::function<Outcome(const std::shared_ptr<Communicator>&)>& f);

}  // namespace sten::app
