// What a fine-tuning command made of a model, held against what it was given.
#pragma once
#include "libsten/io/checkpoint.h"

namespace sten {

struct TrainedChange {
  Index violations = 0;  // pruned positions that are not 0 any more
  Index tensors = 0;     // that have such
};

// Error that names the tensors which vanished, or changed their shape or dtype; or which had finite
// values alone and now have NaN or infinity. Tensors that are new are warned about. `masks` as
// sten-prune writes them.
TrainedChange check_trained(const Checkpoint& given, const Checkpoint& trained,
                            const Checkpoint& masks);

}  // namespace sten
