// SPDX-License-Identifier: Apache-2.0
// Options of calibrated pruning.
#pragma once
#include <string>

#include "libsten/core/base/spec.h"

namespace sten {

// The method that ranks elements and computes their values.
//   magnitude  |w|
//   wanda      |w| |x_j|: Sun, Liu, Bair, Kolter, "A simple and effective pruning approach for
//              large language models" (2024)
//   ria        (|w| / sum of its row + |w| / sum of its column) sqrt(|x_j|): Zhang, Bai, Lin, Zhao,
//              Hou, Cannistraci, "Plug-and-play" (2024)
//   sparsegpt  w^2 / [U_jj]^2, and updates the columns to the right: Frantar, Alistarh, "SparseGPT"
//              (2023), for the outputs of the dense model as Li, Yin, Lee, Xiao, Panda,
//              "GPTAQ: efficient finetuning-free quantization for asymmetric calibration" (2025)
//   admm       alternates choice and solution: Boza, "Fast and effective weight update for pruned
//              large language models" (2024), with all structures
struct CalibratedOptions {
  std::string method = "magnitude";
  Spec structure{"magnitude"};  // a sparsifier that ranks magnitudes
  bool by_row = false;          // unstructured: each row of W has the same sparsity
  bool transposed = false;      // W is given as [in, out]
  // Reconstruction: solves the kept values of each row again by least squares, to match the dense
  // model's outputs. admm always does.
  bool reconstruct = false;
  double damping = 0.01;  // added to the Gram matrix's diagonal, relative to its mean
};

// Error (usage) for an unknown method.
void check_method(const std::string& method);
// Whether new kept values are computed, by the Gram matrix of the inputs, for the outputs of the
// dense model (InputStatistics::cross). Otherwise the given values are kept.
bool computes_values(const std::string& method, bool reconstruct);
bool computes_values(const CalibratedOptions& options);
// The options for a layer without inputs, such as an expert without tokens: magnitude.
CalibratedOptions without_inputs(CalibratedOptions options);

}  // namespace sten
