// What libsten_mpi.so has to have.
#pragma once
#include "libsten/comm/communicator.h"

namespace sten::mpi_plugin {

using Version = const char*();
inline constexpr const char* version_name = "sten_mpi_version";

// Begins MPI; its end comes with the communicator's.
using Make = Communicator*();
inline constexpr const char* make_name = "sten_mpi_communicator";

}  // namespace sten::mpi_plugin
