// SPDX-License-Identifier: Apache-2.0
// Calibrated pruning of a linear layer y = W x, W [out, in], by statistics of its inputs x.
#pragma once
#include <optional>

#include "libsten/compute/calibrate/calibrated_options.h"
#include "libsten/compute/calibrate/input_statistics.h"
#include "libsten/core/tensor/mask.h"

namespace sten {

struct CalibratedLayer {
  // In W's dtype and shape, 0 where pruned. magnitude, wanda and ria without `reconstruct` keep
  // values bit for bit; the other methods compute in float32, or in float64 for F64 weights.
  Dense weights;
  Mask mask;
  // |W' X - W T|^2 / |W T|^2 over the samples, with the original kept values and with `weights`.
  // NaN if unknown: without a Gram matrix, or with `cross` but without target_squares.
  double error_before = 0, error = 0;
};

// The mask of prune_layer(), for methods that keep values if the error is unknown; no value
// otherwise. Takes little more time than reading w.
std::optional<Mask> choose_layer(const Dense& w, const InputStatistics& inputs,
                                 const CalibratedOptions& options);

// Prunes a layer. Deterministic for every number of threads. Error (usage) if a required Gram
// matrix is missing or the statistics have another number of inputs. Error if statistics or
// computed weights are not finite.
CalibratedLayer prune_layer(const Dense& w, const InputStatistics& inputs,
                            const CalibratedOptions& options);

}  // namespace sten
