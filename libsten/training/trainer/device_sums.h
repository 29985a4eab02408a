// SPDX-License-Identifier: Apache-2.0
// Route of gradients on a device to other ranks: directly or through host memory.
#pragma once
#include "libsten/training/comm/communicator.h"

namespace sten {

// Whether sums read device memory directly. They do if the ranks' transport can, and if that was
// faster on the slowest rank for a tensor of 4 MB, measured by three sums of either kind.
// STEN_MPI_CUDA=0 or 1 decides without measuring; 0 on any rank has precedence. All ranks call this
// function and get the same answer. Sums have the same bits in both cases.
bool sums_from_device(Communicator& ranks);

}  // namespace sten
