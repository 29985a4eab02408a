// SPDX-License-Identifier: Apache-2.0
// Allocation: distributes a total sparsity over layers.
#pragma once
#include "libsten/compute/calibrate/layer.h"

namespace sten {

// Number of sparsities of a curve: 0, 1 / steps, ..., (steps - 1) / steps.
inline constexpr Index allocation_steps = 20;
struct LayerCurve {
  Index elements = 0;
  std::vector<double> errors;  // [allocation_steps], CalibratedLayer::error
};
// The output error of w [out, in] (with o.transposed: [in, out]) at each sparsity, pruned by `o`.
// Requires a Gram matrix. Errors as in prune_layer().
LayerCurve layer_curve(const Dense& w, const InputStatistics& inputs, const CalibratedOptions& o);
// The error at a sparsity in [0, 1), interpolated linearly.
double error_at(const LayerCurve& c, double sparsity);

// The sparsities that minimize the sum of all errors while `sparsity` of all elements is pruned:
// the lower convex hulls of the curves have the same slope per element. Error (usage) if a sparsity
// exceeds the maximum of a curve.
std::vector<double> allocate_by_error(const std::vector<LayerCurve>& layers, double sparsity);

// The share of elements with |w| |x_j| above 5 times their mean: Yin et al., "Outlier weighed
// layerwise sparsity" (OWL, 2024).
struct LayerOutliers {
  Index elements = 0;
  double share = 0;
};
LayerOutliers layer_outliers(const Dense& w, const InputStatistics& inputs,
                             const CalibratedOptions& o);
// Sparsities as in OWL: linear in the share of outliers, within 0.08 of `sparsity`, then shifted so
// that `sparsity` of all elements is pruned. Layers with more outliers keep more.
std::vector<double> allocate_by_outliers(const std::vector<LayerOutliers>& layers, double sparsity);

}  // namespace sten
