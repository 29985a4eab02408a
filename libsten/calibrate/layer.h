// Pruning one linear layer y = W x by the inputs x that it gets. W is [out, in].
#pragma once
#include <vector>

#include "libsten/base/spec.h"
#include "libsten/tensor/dense.h"
#include "libsten/tensor/mask.h"

namespace sten {

// Sums over the samples x of a layer's inputs.
struct InputStatistics {
  Index samples = 0;
  std::vector<double> squares;  // sum of x_j^2, [in]
  Dense gram;                   // sum of x x^T, F32 [in, in], symmetric; empty: unknown
  // Sum of t x^T, F32 [in, in], where t is what the layer gets in the dense model when it gets x in
  // the pruned one. Empty: t = x.
  Dense cross;
};

// How the elements that stay are chosen and what becomes of their values.
struct CalibratedOptions {
  std::string method = "magnitude";  // magnitude | wanda | ria | sparsegpt
  Spec structure{"magnitude"};       // a sparsifier: magnitude:sparsity=X, block-magnitude, nm, nmg
  bool by_row = false;               // unstructured: each row of W loses the same share
  // The kept values of each row are solved anew by least squares against the dense layer's outputs.
  bool reconstruct = false;
  double damping = 0.01;  // this share of the mean of the Gram matrix' diagonal is added to it
};

struct CalibratedLayer {
  Dense weights;  // of W's dtype, 0 where nothing stays
  Mask mask;
  // |W' X - W T|^2 / |W T|^2 over the samples: with the values that stay as they were, and with
  // those in `weights`. NaN where the Gram matrix is unknown.
  double error_before = 0, error = 0;
};

// Error (usage) where a method needs a Gram matrix that is not there; Error for a number that is not
// finite.
CalibratedLayer prune_layer(const Dense& w, const InputStatistics& inputs,
                            const CalibratedOptions& options);

}  // namespace sten
