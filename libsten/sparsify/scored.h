// Sparsifiers that rank by more than the values: a score for each element, of the values' shape.
//
// Scores have any prunable dtype and are read as float, as double if they or the values are F64.
// NaN among them is an Error that names the element. A value that is not finite itself ranks above
// all numbers, whatever its score. Of a tensor's entries only their scores count, and NaN anywhere
// is an Error still; movement ranks all elements by their scores, stored or not.
#pragma once
#include "libsten/sparsify/sparsifier.h"

namespace sten {

// First order (Taylor): masks exactly llround(sparsity * N) elements, smallest |w * g| first, among
// equals the later; Hints::scores is g, the gradient dL/dw.
struct Gradient {
  static constexpr const char* name = "gradient";
  static constexpr bool needs_scores = true;
  double sparsity = 0.5;
  Mask select(const Dense& x, const Hints& hints) const;
  Mask select_stored(const Entries& x, const Hints& hints) const;
  static Gradient make(const Spec& spec);
};

// Movement pruning (Sanh, Wolf, Rush 2020): the same with the smallest signed score first;
// Hints::scores is S = -sum w * dL/dw, accumulated over training.
struct Movement {
  static constexpr const char* name = "movement";
  static constexpr bool needs_scores = true;
  double sparsity = 0.5;
  // Of one step: -x * gradient, F32, or F64 where one of them is.
  static Dense scores_of(const Dense& x, const Dense& gradient);
  // scores -= x * gradient, all F32.
  static void add_scores(Dense& scores, const Dense& x, const Dense& gradient);
  Mask select(const Dense& x, const Hints& hints) const;
  static Movement make(const Spec& spec);
};

// Soft movement pruning (the same): keeps where sigmoid(S) > at, in double; Hints::scores is S.
struct SoftMovement {
  static constexpr const char* name = "soft-movement";
  static constexpr bool needs_scores = true;
  static constexpr bool scores_are_learned = true;
  double at = 0.1;
  Mask select(const Dense& x, const Hints& hints) const;
  Mask select_stored(const Entries& x, const Hints& hints) const;
  static SoftMovement make(const Spec& spec);
};

// L0 regularisation (Louizos, Welling, Kingma 2018): keeps where the hard-concrete gate
// clamp(1.2 * sigmoid(a) - 0.1, 0, 1) is above 0, computed in double; Hints::scores is a.
struct L0 {
  static constexpr const char* name = "l0";
  static constexpr bool needs_scores = true;
  static constexpr bool scores_are_learned = true;
  Mask select(const Dense& x, const Hints& hints) const;
  Mask select_stored(const Entries& x, const Hints& hints) const;
};

// Variational dropout (Molchanov, Ashukha, Vetrov 2017): keeps where log alpha = log(sigma^2 / x^2)
// is at most `at`, in double; Hints::scores is log sigma^2.
struct VariationalDropout {
  static constexpr const char* name = "variational-dropout";
  static constexpr bool needs_scores = true;
  static constexpr bool scores_are_learned = true;
  double at = 3;
  Mask select(const Dense& x, const Hints& hints) const;
  Mask select_stored(const Entries& x, const Hints& hints) const;
  static VariationalDropout make(const Spec& spec);
};

// The first NaN; none for dtypes that have none.
std::optional<Index> first_nan(const Dense& x);

// The tensors whose magnitudes are the ranks of x, F64 if `wide`, else F32. Equal bits (but for the
// sign) are equal ranks; not all of them are numbers.
//
// |w * g|, and infinity for a w that is not finite. Error where it is NaN.
Dense gradient_ranks(const Dense& x, const Dense& gradient, bool wide);
// The order of signed scores does not fit into magnitudes. If all that is to be removed lies below
// zero (`below_zero`), all others rank alike, above it; else all below zero rank alike, as 0.
Dense movement_ranks(const Dense& x, const Dense& scores, bool wide, bool below_zero);
// How many scores are below zero, at values that are finite. Error for NaN.
Index count_below_zero(const Dense& x, const Dense& scores);
// Whether ranks of the two have to be F64.
bool ranks_are_wide(const Dense& x, const Dense& scores);

}  // namespace sten
