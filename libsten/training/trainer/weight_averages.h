// SPDX-License-Identifier: Apache-2.0
// Averages of the values of weights over the steps of training.
#pragma once
#include <span>

#include "libsten/training/trainer/train_state.h"

namespace sten {

// Adds the values of `weights` after step t = 0, 1, ... to their averages (average_key):
//   average += (1 - d) (value - average), with d = min(decay, (1 + t) / (10 + t))
// The first steps so average over fewer steps, as TensorFlow's ExponentialMovingAverage with
// num_updates. All weights are on one device.
void average_weights(std::span<Parameter* const> weights, double decay, Index t);

}  // namespace sten
