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

  // The factor of a frequency, which is in radians per position.
  double multiplier(double frequency) const;
};

// yarn (Peng et al. 2023): the scale of cosines and sines for texts longer by `factor`. mscale and
// mscale_all count only together.
double yarn_attention_factor(double factor, std::optional<double> mscale = {},
                             std::optional<double> mscale_all = {});

}  // namespace sten
