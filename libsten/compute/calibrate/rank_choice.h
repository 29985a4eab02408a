// SPDX-License-Identifier: Apache-2.0
// Selection by ranks that need only the norms of a layer's inputs, at the speed of reading the
// weights.
#pragma once
#include "libsten/compute/calibrate/calibrated_options.h"
#include "libsten/compute/calibrate/input_statistics.h"

namespace sten::calibrate {

// The mask of w [out, in] (with o.transposed: [in, out]) by magnitude, wanda or ria. With o.by_row,
// w must not be transposed.
Mask choose_by_rank(const Dense& w, const InputStatistics& inputs, const CalibratedOptions& o);

}  // namespace sten::calibrate
