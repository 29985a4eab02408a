// Pruning one linear layer y = W x by the inputs x that it gets. W is [out, in].
#pragma once
#include <optional>
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
  std::optional<double> target_squares;  // sum of |W t|^2, beside a `cross`

  bool has_gram() const { return gram.size() > 0; }
  bool has_cross() const { return cross.size() > 0; }
};

// How the elements that stay are chosen and what becomes of their values.
//   magnitude  |w|
//   wanda      |w| |x_j|: Sun, Liu, Bair, Kolter, "A simple and effective pruning approach for large
//              language models" (2024)
//   ria        (|w| / sum of its row + |w| / sum of its column) sqrt(|x_j|): Zhang, Bai, Lin, Zhao,
//              Hou, Cannistraci, "Plug-and-play" (2024)
//   sparsegpt  w^2 / [U_jj]^2, and an update of what is to the right: Frantar, Alistarh, "SparseGPT"
//              (2023)
//   admm       chosen and solved in turns: Boza, "Fast and effective weight update for pruned large
//              language models" (2024), with all structures
struct CalibratedOptions {
  std::string method = "magnitude";
  Spec structure{"magnitude"};  // a sparsifier that ranks magnitudes
  bool by_row = false;          // unstructured: each row of W loses the same share
  bool transposed = false;      // W is given as [in, out]
  // The kept values of each row are solved anew by least squares against the dense layer's outputs;
  // admm always does.
  bool reconstruct = false;
  double damping = 0.01;  // this share of the mean of the Gram matrix' diagonal is added to it
};

// Of `method`: Error (usage) where it is none.
void check_method(const std::string& method);
bool needs_gram(const CalibratedOptions& options);

struct CalibratedLayer {
  // Of W's dtype and shape, 0 where nothing stays. magnitude, wanda and ria without `reconstruct` copy
  // the bits of the values that stay; the others compute in float32, and in float64 for weights of F64.
  Dense weights;
  Mask mask;
  // |W' X - W T|^2 / |W T|^2 over the samples: with the values that stay as they were, and with
  // those in `weights`. NaN where that is unknown: without a Gram matrix, or with a `cross` alone.
  double error_before = 0, error = 0;
};

// The mask of prune_layer(), where what stays keeps its values and errors are not known; none
// elsewhere. Takes little more time than to read w.
std::optional<Mask> choose_layer(const Dense& w, const InputStatistics& inputs,
                                 const CalibratedOptions& options);

// Bits do not depend on the number of threads. Error (usage) where a method needs a Gram matrix that
// is not there, or where the statistics are of another number of inputs. Error where statistics or a
// computed weight are not finite.
CalibratedLayer prune_layer(const Dense& w, const InputStatistics& inputs,
                            const CalibratedOptions& options);

}  // namespace sten
