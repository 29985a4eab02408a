// SPDX-License-Identifier: Apache-2.0
// Ranks that need only the norms of a layer's inputs.
#pragma once
#include <span>

#include "libsten/compute/calibrate/input_statistics.h"
#include "libsten/compute/calibrate/matrix.h"

namespace sten::calibrate {

// The sums of x_j^2, [in]: as given, or the diagonal of the Gram matrix.
std::vector<double> squares_of(const InputStatistics& inputs);

// Returns the weights of row r, in memory or decoded to `buffer`.
template <class T>
using WeightRow = std::function<const T*(Index r, std::vector<T>& buffer)>;

// The ranks, >= 0, of magnitude, wanda and ria (formulas in layer.h). Those of wanda and ria are
// scaled by a power of two, so that they do not overflow.
template <class T>
class Ranks {
 public:
  // For weights [rows, cols], whose inputs are the columns, or with `transposed` the rows.
  Ranks(const std::string& method, Index rows, Index cols, bool transposed,
        const WeightRow<T>& weights, const InputStatistics& inputs);

  void of_row(Index r, const T* w, T* ranks) const;

 private:
  enum class Kind : std::uint8_t { magnitude, wanda, ria };
  double scaled(T w) const;  // |w|, for ria
  void sum_up(Index rows, const WeightRow<T>& weights);

  Kind kind_;
  Index cols_;
  bool transposed_;
  std::vector<T> norms_;                    // wanda: norms of inputs
  std::vector<double> roots_;               // ria: square roots of norms
  int exponent_ = 0;                        // ria: weights are scaled by 2^-exponent
  std::vector<double> by_row_, by_column_;  // ria: 1 / sums of |w|
};

template <class T>
Matrix<T> ranks_of(const std::string& method, const Matrix<T>& w, const InputStatistics& inputs);

}  // namespace sten::calibrate
