// SPDX-License-Identifier: Apache-2.0
// The communicator of processes started by mpirun or srun. MPI is linked only by a library of its
// own, libsten_mpi.so, which processes of a distributed run load.
#pragma once
#include <memory>

#include "libsten/training/comm/communicator.h"

namespace sten {

// Rank from the environment variables of the launcher, before MPI is loaded.
struct MpiLaunch {
  bool is_one_of_several = false;
  int rank = 0;
};
MpiLaunch mpi_launch();

// Initializes MPI; call once per process. MPI is finalized when the communicator is destroyed.
// Error if libsten_mpi.so does not load or has another version.
std::shared_ptr<Communicator> comm_mpi();

// comm_mpi() in a process of a distributed run, else comm_self().
std::shared_ptr<Communicator> comm_of_process();

}  // namespace sten
