// Broadcast of rank 0's training state, since no other rank reads the files of a run.
#pragma once
#include "libsten/training/comm/communicator.h"
#include "libsten/training/trainer/train_state.h"

namespace sten {

// Replaces the state on all ranks but 0.
void broadcast_state(Communicator& ranks, TrainState& state);

}  // namespace sten
