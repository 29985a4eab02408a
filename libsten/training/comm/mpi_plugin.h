// SPDX-License-Identifier: Apache-2.0
// Symbols that libsten_mpi.so exports.
#pragma once
#include "libsten/training/comm/communicator.h"

namespace sten::mpi_plugin {

using Version = const char*();
inline constexpr const char* version_name = "sten_mpi_version";

// Initializes MPI; the destructor of the communicator finalizes it.
using Make = Communicator*();
inline constexpr const char* make_name = "sten_mpi_communicator";

}  // namespace sten::mpi_plugin
