// A process alone.
#pragma once
#include <memory>

#include "libsten/comm/communicator.h"

namespace sten {

// One rank: a sum is what it was, and all ranks fail where it does.
std::shared_ptr<Communicator> comm_self();

}  // namespace sten
