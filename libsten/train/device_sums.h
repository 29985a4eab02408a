// From where gradients on a device travel.
#pragma once
#include "libsten/comm/communicator.h"

namespace sten {

// Whether sums of what is on the process's device are taken from its memory, not through the host's:
// where the ranks' transport can, and has been faster that way with a tensor of 4 MB on the slowest
// rank, which takes three sums of either kind. STEN_MPI_CUDA=0 or 1 decides it without measuring; 0 of
// any rank goes first. A call of all ranks, with the same answer; the sums' bits do not depend on it.
bool sums_from_device(Communicator& ranks);

}  // namespace sten
