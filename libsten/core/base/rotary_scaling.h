// SPDX-License-Identifier: Apache-2.0
// Published scalings of rotary embeddings to longer texts, for models and their files.
#pragma once
#include <optional>

namespace sten {

// Llama 3 (the model card of Llama 3.1): long waves are stretched by the factor, short ones not, with
// a linear transition.
struct Llama3Scaling {
  double factor = 8, low_freq_factor = 1, high_freq_factor = 4;
  double original_positions = 8192;

  // What a frequency, in radians per position, is multiplied by.
  double multiplier(double frequency) const;
};

// yarn (Peng et al. 2023): the scale of cosines and sines for texts longer by `factor`. The first
// mscale counts only with the second.
double yarn_scale(double factor, std::optional<double> mscale = {},
                  std::optional<double> mscale_all = {});

}  // namespace sten
