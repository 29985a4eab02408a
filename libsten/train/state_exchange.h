// A state that rank 0 has, on every rank: no other rank reads files of a run.
#pragma once
#include "libsten/comm/communicator.h"
#include "libsten/train/trainer.h"

namespace sten {

// On rank 0 it stays as it is.
void broadcast_state(Communicator& ranks, TrainState& state);

}  // namespace sten
