// A state that rank 0 has, on every rank: no other rank reads files of a run.
#pragma once
#include "libsten/comm/communicator.h"
#include "libsten/train/trainer.h"

namespace sten {

// Rank 0 keeps its own.
void broadcast_state(Communicator& ranks, TrainState& state);

}  // namespace sten
