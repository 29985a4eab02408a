// SPDX-License-Identifier: Apache-2.0
// Frequencies of rotary positions (Su et al. 2021), and of their extensions to longer texts.
#pragma once
#include <optional>
#include <vector>

#include "libsten/core/base/json_reader.h"

namespace sten {

// The fields of `rope_parameters` (transformers 5) or `rope_scaling` (4) in a config.json.
struct RotaryParameters {
  std::string type = "default";  // default, linear, dynamic, llama3, yarn, longrope
  double theta = 10000;
  double part = 1;  // rotated part of each head
  double factor = 1;
  double low_freq_factor = 1, high_freq_factor = 4;            // llama3
  double original_positions = 0;                               // llama3, yarn, longrope
  double beta_fast = 32, beta_slow = 1;                        // yarn
  bool truncates = true;                                       // yarn
  std::optional<double> attention_factor, mscale, mscale_all;  // yarn, longrope
  std::vector<double> short_factor, long_factor;               // longrope

  // Parses an object. `theta`: if the object has none; `positions`: of the model;
  // `original_positions`: instead of the object's, if > 0.
  static RotaryParameters parse(const JsonReader& in, double theta, double positions,
                                double original_positions);
};

struct RotaryFrequencies {
  std::vector<float> values;  // radians per position, one per rotated pair
  double scale = 1;           // of cosines and sines
};

// For heads of `width` channels and a model of `positions`. `tokens`: longest text if known, for
// longrope. Linear: Chen et al. 2023; yarn: Peng et al. 2023; longrope: Ding et al. 2024; llama3: the
// model card of Llama 3.1; dynamic: like default, since it differs only beyond the model's positions.
RotaryFrequencies rotary_frequencies(const RotaryParameters& p, Index width, Index positions,
                                     Index tokens = 0);

}  // namespace sten
