// SPDX-License-Identifier: Apache-2.0
// Sparsifiers that rank by scores: one score per element, in the shape of the values.
//
// Scores have any prunable dtype and are read as float, or as double if they or the values are F64.
// Error for a NaN score, which names the element. A non-finite value ranks above all finite ones,
// whatever its score. select_stored() reads only the scores of the entries, but checks all for NaN;
// movement ranks all elements by their scores, stored or not.
#pragma once
#include "libsten/core/sparsify/sparsifier.h"

namespace sten {

// First order (Taylor). Hints::scores is g, the gradient dL/dw.
struct Gradient {
  static constexpr const char* name = "gradient";
  static constexpr SpecDoc doc{
      "gradient:sparsity=0.9",
      "as `magnitude`, but by `abs(w * g)`, where the scores g are `dL/dw`"};
  static constexpr bool needs_scores = true;
  double sparsity = 0.5;
  Mask select(const Dense& x, const Hints& hints) const;
  Mask select_stored(const Entries& x, const Hints& hints) const;
  static Gradient make(const Spec& spec);
};

// Movement pruning (Sanh, Wolf, Rush 2020). Hints::scores is S = -sum w * dL/dw, summed over
// training.
struct Movement {
  static constexpr const char* name = "movement";
  static constexpr SpecDoc doc{
      "movement:sparsity=0.9",
      "as `magnitude`, but by the signed score `-sum w * dL/dw` over training"};
  static constexpr bool needs_scores = true;
  double sparsity = 0.5;
  // The scores of one step: -x * gradient, F32, or F64 if either is F64.
  static Dense scores_of(const Dense& x, const Dense& gradient);
  // Computes scores -= x * gradient, all F32.
  static void add_scores(Dense& scores, const Dense& x, const Dense& gradient);
  Mask select(const Dense& x, const Hints& hints) const;
  static Movement make(const Spec& spec);
};

// Soft movement pruning (Sanh, Wolf, Rush 2020), in double. Hints::scores is S.
struct SoftMovement {
  static constexpr const char* name = "soft-movement";
  static constexpr SpecDoc doc{"soft-movement:at=0.1",
                               "values with `sigmoid(S) > at` for the score S"};
  static constexpr bool needs_scores = true;
  static constexpr bool scores_are_learned = true;
  double at = 0.1;
  Mask select(const Dense& x, const Hints& hints) const;
  Mask select_stored(const Entries& x, const Hints& hints) const;
  static SoftMovement make(const Spec& spec);
};

// L0 regularisation (Louizos, Welling, Kingma 2018), with a hard-concrete gate, in double.
// Hints::scores is a.
struct L0 {
  static constexpr const char* name = "l0";
  static constexpr SpecDoc doc{
      "l0", "values whose gate `clamp(1.2 * sigmoid(a) - 0.1, 0, 1)` of the score a is above 0"};
  static constexpr bool needs_scores = true;
  static constexpr bool scores_are_learned = true;
  Mask select(const Dense& x, const Hints& hints) const;
  Mask select_stored(const Entries& x, const Hints& hints) const;
};

// Variational dropout (Molchanov, Ashukha, Vetrov 2017): log alpha = log(sigma^2 / x^2) is at most
// `at`, in double. Hints::scores is log sigma^2.
struct VariationalDropout {
  static constexpr const char* name = "variational-dropout";
  static constexpr SpecDoc doc{
      "variational-dropout:at=3",
      "values with `log(sigma^2) - log(x^2 + 1e-8) <= at`; the score is `log(sigma^2)`"};
  static constexpr bool needs_scores = true;
  static constexpr bool scores_are_learned = true;
  double at = 3;
  Mask select(const Dense& x, const Hints& hints) const;
  Mask select_stored(const Entries& x, const Hints& hints) const;
  static VariationalDropout make(const Spec& spec);
};

// The index of the first NaN; no value if there is none.
std::optional<Index> first_nan(const Dense& x);

// gradient_ranks() and movement_ranks() return a tensor whose magnitudes are the ranks of x, F64 if
// `wide`, else F32. Ranks are equal if their bits except the sign are equal; some are not numbers.
//
// Ranks |w * g|, and infinity for non-finite w. Error for a NaN rank.
Dense gradient_ranks(const Dense& x, const Dense& gradient, bool wide);
// Signed scores have more ranks than magnitudes. With `below_zero`, for pruning negative scores
// only, all other scores have one rank above them; otherwise all negative scores have rank 0.
Dense movement_ranks(const Dense& x, const Dense& scores, bool wide, bool below_zero);
// The number of negative scores at finite values. Error for NaN.
Index count_below_zero(const Dense& x, const Dense& scores);
// Whether the ranks must be F64.
bool ranks_are_wide(const Dense& x, const Dense& scores);

}  // namespace sten
