// SPDX-License-Identifier: Apache-2.0
// Training state between rank 0, which alone reads and writes the files of a run, and other ranks.
#pragma once
#include "libsten/training/comm/communicator.h"
#include "libsten/training/trainer/train_state.h"

namespace sten {

// Replaces the state on all ranks but 0.
void broadcast_state(Communicator& ranks, TrainState& state);

// Adds the residuals of all other ranks to the state of rank 0. Called on all ranks.
void gather_residuals(Communicator& ranks, TrainState& state);
// Replaces the residuals of a checkpoint by those of this rank, r of n: the sum of the residuals of
// ranks r, r + n, r + 2n, ... of the checkpoint. With as many ranks, its own; with another number,
// the sum over all ranks is the same up to rounding. Not collective.
void take_residuals(const Communicator& ranks, TrainState& state);

}  // namespace sten
