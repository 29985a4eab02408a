// How much each layer loses, where all of them together lose a share.
#pragma once
#include "libsten/calibrate/layer.h"

namespace sten {

// Sparsities of a curve: 0, 1 / steps, ..., (steps - 1) / steps.
inline constexpr Index allocation_steps = 20;
struct LayerCurve {
  Index elements = 0;
  std::vector<double> errors;  // [allocation_steps], shares of squares (CalibratedLayer::error)
};
// What the outputs of w [out, in] (or [in, out], o.transposed) lose at each of them, pruned as it will
// be. The Gram matrix has to be there; Error as of prune_layer().
LayerCurve layer_curve(const Dense& w, const InputStatistics& inputs, const CalibratedOptions& o);
// The error of a curve at a sparsity within [0, 1), between two steps by a line.
double error_at(const LayerCurve& c, double sparsity);

// The sparsities for which the sum of all errors is smallest while the elements that go are
// `sparsity` of all: where the curves' lower convex hulls have one slope by element. Error (usage)
// where a sparsity is above the largest that a curve has.
std::vector<double> allocate_by_error(const std::vector<LayerCurve>& layers, double sparsity);

// The share of elements |w| |x_j| that are more than 5 times their mean: Yin et al., "Outlier
// weighed layerwise sparsity" (OWL, 2024).
struct LayerOutliers {
  Index elements = 0;
  double share = 0;
};
LayerOutliers layer_outliers(const Dense& w, const InputStatistics& inputs,
                             const CalibratedOptions& o);
// As OWL: a layer with more outliers keeps more, by a line, within 0.08 of `sparsity`; then moved so
// that all elements together are at it.
std::vector<double> allocate_by_outliers(const std::vector<LayerOutliers>& layers, double sparsity);

}  // namespace sten
