// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/calibrate/layer.h"

#include <array>
#include <cmath>
#include <limits>

#include "libsten/compute/calibrate/admm.h"
#include "libsten/compute/calibrate/rank_choice.h"
#include "libsten/compute/calibrate/reconstruct.h"
#include "libsten/compute/calibrate/scores.h"
#include "libsten/compute/calibrate/sparsegpt.h"
#include "libsten/compute/linalg/dense_gemm.h"
#include "libsten/compute/ops/common/elements.h"
#include "libsten/core/base/error.h"
#include "libsten/core/base/floats.h"

namespace sten {
namespace {

using namespace calibrate;

constexpr double unknown_error = std::numeric_limits<double>::quiet_NaN();

void check(Index inputs_of_w, const InputStatistics& inputs, const CalibratedOptions& o) {
  check_method(o.method);
  const auto in = static_cast<std::size_t>(inputs_of_w);
  const bool has_squares = !inputs.squares.empty() || !inputs.has_gram();
  if (o.method != "magnitude" && has_squares && inputs.squares.size() != in)
    fail_usage("--method {} needs the squares of {} inputs, got {}", o.method, in,
               inputs.squares.size());
  if (computes_values(o) && !inputs.has_gram())
    fail_usage("{} needs the Gram matrix of the layer's inputs",
               o.reconstruct ? "--reconstruct" : "--method " + o.method);
  for (const Dense* each : {&inputs.gram, &inputs.cross})
    if (each->size() > 0 && each->extents != Shape{inputs_of_w, inputs_of_w})
      fail_usage("a matrix of shape {} does not fit a layer of {} inputs", to_string(each->extents),
                 inputs_of_w);
}

// Whether the size of the dense layer's outputs is known.
bool has_error(const InputStatistics& inputs) {
  return inputs.has_gram() && (!inputs.has_cross() || inputs.target_squares);
}

struct Errors {
  double before = unknown_error, after = unknown_error;
};

// Output errors relative to the dense layer: before, of its weights where they are kept; after, of the
// weights `pruned`, which are empty if kept weights do not change. All are scaled by 2^-exponent.
template <class T>
class OutputErrors {
 public:
  OutputErrors(const Matrix<T>& dense, const Kept& kept, const Matrix<T>& pruned,
               const Gram<T>& gram)
      : dense_(dense), kept_(kept), pruned_(pruned), gram_(gram) {}

  Errors of(const InputStatistics& inputs, int exponent) const {
    const bool has_cross = inputs.has_cross();
    const double all = has_cross
                           ? std::scalbn(*inputs.target_squares, -2 * exponent - gram_.exponent())
                           : quadratic_trace(dense_, gram_.plain());
    if (!std::isfinite(all)) return {};
    if (!(all > 0)) return {0, 0};
    const auto cross = has_cross ? cross_sums() : std::array<double, 2>{};
    const auto error = [&](bool after) {
      // With a cross matrix, the outputs P x; else their difference (P - W) x.
      Matrix<T> x(dense_.rows, dense_.cols);
      for_row_blocks(x.rows, [&](Index begin, Index end) {
        for (Index i = begin * x.cols; i < end * x.cols; ++i)
          x.values[i] = value(after, i) - (has_cross ? 0 : dense_.values[i]);
      });
      double part = quadratic_trace(x, gram_.plain()) / all;
      if (has_cross) part += 1 - 2 * cross[after] / all;
      return part < 0 ? 0 : part;
    };
    const double before = error(false);
    return {before, has_new_values() ? error(true) : before};
  }

 private:
  bool has_new_values() const { return !pruned_.values.empty(); }
  T value(bool after, Index i) const {
    return after ? pruned_.values[i] : kept_[i] ? dense_.values[i] : 0;
  }

  // tr(W C P^T) for the weights P before and after, where C is the cross matrix.
  std::array<double, 2> cross_sums() const {
    const Index cols = dense_.cols, block = product_block(dense_.rows);
    std::vector<std::array<double, 2>> sums(ceil_div(dense_.rows, block));
    const auto add = [&](Index begin, Index end) {
      std::array<double, 2>& to = sums[begin / block];
      std::vector<T> products((end - begin) * cols);
      multiply_rows(dense_.row(begin), end - begin, cols, gram_.cross(), cols, products.data());
      for (Index i = 0; i < std::ssize(products); ++i)
        for (const bool after : {false, true})
          if (!after || has_new_values())
            to[after] += static_cast<double>(products[i]) * value(after, begin * cols + i);
    };
    for_row_blocks(dense_.rows, add, block);
    std::array<double, 2> all{};
    for (const auto& each : sums)
      for (int k = 0; k < 2; ++k) all[k] += each[k];
    return all;
  }

  const Matrix<T>& dense_;
  const Kept& kept_;
  const Matrix<T>& pruned_;
  const Gram<T>& gram_;
};

// Sets the bits of kept elements, eight at a time.
void set_bits_of(const Kept& kept, std::uint8_t* bits) {
  for (std::size_t i = 0; i < kept.size(); i += 8) {
    unsigned byte = 0;
    for (std::size_t j = 0; j < std::min<std::size_t>(8, kept.size() - i); ++j)
      byte |= static_cast<unsigned>(kept[i + j]) << j;
    bits[i / 8] = static_cast<std::uint8_t>(byte);
  }
}

template <class T>
Mask to_mask(const Kept& kept, const Matrix<T>& w, const CalibratedOptions& o, const Shape& shape) {
  Mask mask = Mask::none(shape);
  std::uint8_t* bits = mask.bits.mutate();
  if (!o.transposed) {
    set_bits_of(kept, bits);
    return mask;
  }
  for (Index r = 0; r < w.rows; ++r)
    for (Index c = 0; c < w.cols; ++c)
      if (kept[r * w.cols + c]) set_bit(bits, c * w.rows + r);
  return mask;
}

// Error if a computed weight exceeds the range of its dtype.
void check_finite(const Dense& w) {
  with_float(w.dtype(), [&]<class E>(E) {
    const auto bits = w.values.as<typename E::Bits>();
    for (std::size_t i = 0; i < bits.size(); ++i)
      if (!std::isfinite(E::decode(bits[i])))
        fail("element {} of the reconstructed weights is not finite in {}", i, name_of(w.dtype()));
  });
}

// Rounds weights to those that are written.
template <class T>
void round_to(DType dtype, Matrix<T>& a, int exponent) {
  if (dtype == dtype_of<T>) return;
  for_row_blocks(a.rows, [&](Index begin, Index end) {
    Matrix<T> rows(end - begin, a.cols);
    std::copy_n(a.row(begin), rows.values.size(), rows.values.data());
    rows = matrix_of<T>(to_dense(rows, dtype, {rows.rows, rows.cols}, exponent), exponent);
    std::ranges::copy(rows.values, a.row(begin));
  });
}

template <class T>
CalibratedLayer prune_as(const Dense& x, const InputStatistics& inputs,
                         const CalibratedOptions& o) {
  // Fails early for dtypes that new values cannot be rounded to.
  if (computes_values(o)) (void)computed_in("calibrated pruning", x.dtype());
  const int exponent = scale_exponent(x);
  const auto dense = [&] {
    auto m = matrix_of<T>(x, exponent);
    return o.transposed ? transposed(m) : m;
  };
  Matrix<T> w = dense();
  std::optional<Gram<T>> gram;
  if (inputs.has_gram()) gram.emplace(inputs, o.damping);
  const Chooser chooser(o);
  Kept kept;
  Matrix<T> pruned;  // empty: the values of w stay
  if (o.method == "sparsegpt") {
    pruned = std::move(w);
    kept = prune_by_sparsegpt(pruned, *gram, chooser);
    w = dense();
  } else if (o.method == "admm") {
    kept = choose_by_admm(std::move(w), *gram, chooser);  // reuses the memory
    w = dense();
  } else {
    // From unscaled weights: ranks do not overflow, and small ranks stay distinct.
    const Matrix<T> given = exponent == 0 ? Matrix<T>() : matrix_of<T>(x);
    const Matrix<T> given_transposed = o.transposed ? transposed(given) : Matrix<T>();
    kept = chooser.choose(ranks_of(o.method,
                                   exponent == 0  ? w
                                   : o.transposed ? given_transposed
                                                  : given,
                                   inputs));
  }
  if (o.reconstruct || o.method == "admm") {
    pruned = {};  // frees memory for the solution
    pruned = reconstruct(w, kept, *gram);
  }
  const bool has_new_values = computes_values(o);
  Errors errors;
  if (has_error(inputs)) {
    if (has_new_values) round_to(x.dtype(), pruned, exponent);
    errors = OutputErrors<T>(w, kept, pruned, *gram).of(inputs, exponent);
  }
  Mask mask = to_mask(kept, w, o, x.extents);
  w = {};  // frees memory for the result
  if (!has_new_values) {
    Dense selected = Dense::pack(x, mask);
    return {std::move(selected), std::move(mask), errors.before, errors.after};
  }
  Dense solved =
      to_dense(o.transposed ? transposed(pruned) : pruned, x.dtype(), x.extents, exponent);
  check_finite(solved);
  return {std::move(solved), std::move(mask), errors.before, errors.after};
}

}  // namespace

std::optional<Mask> choose_layer(const Dense& w, const InputStatistics& inputs,
                                 const CalibratedOptions& o) {
  const Index rows = w.extents.empty() ? 1 : w.extents[0];
  check(o.transposed || rows == 0 ? rows : w.size() / rows, inputs, o);
  if (computes_values(o) || has_error(inputs) || (o.by_row && o.transposed)) return std::nullopt;
  return choose_by_rank(w, inputs, o);
}

CalibratedLayer prune_layer(const Dense& x, const InputStatistics& inputs,
                            const CalibratedOptions& o) {
  if (std::optional<Mask> mask = choose_layer(x, inputs, o)) {
    Dense kept = Dense::pack(x, *mask);
    return {std::move(kept), *std::move(mask), unknown_error, unknown_error};
  }
  // A fixed library, so that results do not depend on which library is fastest today.
  std::optional<UseDenseLibrary> products;
  if (const DenseLibrary* blas = find_dense_library("OpenBLAS")) products.emplace(*blas);
  return x.dtype() == DType::F64 ? prune_as<double>(x, inputs, o) : prune_as<float>(x, inputs, o);
}

}  // namespace sten
