// Calibrated pruning of a linear layer y = W x, W [out, in], by statistics of its inputs x.
#pragma once
#include <optional>
#include <vector>

#include "libsten/base/spec.h"
#include "libsten/tensor/dense.h"
#include "libsten/tensor/mask.h"

namespace sten {

// Statistics of a layer's inputs: sums over samples x.
struct InputStatistics {
  Index samples = 0;
  std::vector<double> squares;  // sum of x_j^2, [in]
  Dense gram;                   // sum of x x^T, F32 [in, in], symmetric; empty: unknown
  // Sum of t x^T, F32 [in, in], where t is the layer's input in the dense model for the sample
  // whose input in the pruned model is x. Empty: t = x.
  Dense cross;
  std::optional<double> target_squares;  // sum of |W t|^2, if `cross` is known

  bool has_gram() const { return gram.size() > 0; }
  bool has_cross() const { return cross.size() > 0; }
};

// The method that ranks elements and computes their values.
//   magnitude  |w|
//   wanda      |w| |x_j|: Sun, Liu, Bair, Kolter, "A simple and effective pruning approach for
//              large language models" (2024)
//   ria        (|w| / sum of its row + |w| / sum of its column) sqrt(|x_j|): Zhang, Bai, Lin, Zhao,
//              Hou, Cannistraci, "Plug-and-play" (2024)
//   sparsegpt  w^2 / [U_jj]^2, and updates the columns to the right: Frantar, Alistarh, "SparseGPT"
//              (2023)
//   admm       alternates choice and solution: Boza, "Fast and effective weight update for pruned
//              large language models" (2024), with all structures
struct CalibratedOptions {
  std::string method = "magnitude";
  Spec structure{"magnitude"};  // a sparsifier that ranks magnitudes
  bool by_row = false;          // unstructured: each row of W has the same sparsity
  bool transposed = false;      // W is given as [in, out]
  // Reconstruction: solves the kept values of each row again by least squares, to match the dense
  // layer's outputs. admm always does.
  bool reconstruct = false;
  double damping = 0.01;  // added to the Gram matrix's diagonal, relative to its mean
};

// Error (usage) for an unknown method.
void check_method(const std::string& method);
bool needs_gram(const CalibratedOptions& options);

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
