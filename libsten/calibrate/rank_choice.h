// Choices by ranks that need no more than the norms of a layer's inputs, as fast as the weights can be read.
#pragma once
#include "libsten/calibrate/layer.h"

namespace sten::calibrate {

// The elements of w [out, in] (or [in, out], o.transposed) that stay by magnitude, wanda or ria. Not by
// rows of what is transposed.
Mask choose_by_rank(const Dense& w, const InputStatistics& inputs, const CalibratedOptions& o);

}  // namespace sten::calibrate
