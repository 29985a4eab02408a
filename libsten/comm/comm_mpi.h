// Processes that mpirun started, or what stands for it. MPI is in a library of its own beside
// libsten, libsten_mpi.so, which a process loads that is one of several.
#pragma once
#include <memory>

#include "libsten/comm/communicator.h"

namespace sten {

// By the environment, before anything is loaded.
struct MpiLaunch {
  bool is_one_of_several = false;
  int rank = 0;
};
MpiLaunch mpi_launch();

// Error where libsten_mpi.so does not load, or is of another version. Once in a process; MPI ends
// with what it returns.
std::shared_ptr<Communicator> comm_mpi();

// comm_mpi() of a process that is one of several, else comm_self().
std::shared_ptr<Communicator> comm_of_process();

}  // namespace sten
