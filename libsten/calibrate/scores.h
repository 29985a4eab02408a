// Ranks that need no more than the norms of a layer's inputs.
#pragma once
#include <span>

#include "libsten/calibrate/layer.h"
#include "libsten/calibrate/matrix.h"

namespace sten::calibrate {

// sum of x_j^2, [in]: as given, or the diagonal of the Gram matrix.
std::vector<double> squares_of(const InputStatistics& inputs);

// Gives the weights of row r: those in memory, or in `buffer`.
template <class T>
using WeightRow = std::function<const T*(Index r, std::vector<T>& buffer)>;

// The ranks, >= 0, of magnitude: |w|; of wanda: |w| |x_j|; and of ria by its formula (layer.h); those
// of wanda and ria times a power of two, so that no rank overflows.
template <class T>
class Ranks {
 public:
  // Of weights [rows, cols]; inputs are the columns, or the rows of what is `transposed`.
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
  std::vector<T> norms_;                    // wanda: of inputs
  std::vector<double> roots_;               // ria: of norms
  int exponent_ = 0;                        // ria: weights are taken times 2^-exponent
  std::vector<double> by_row_, by_column_;  // ria: 1 / sums of |w|
};

template <class T>
Matrix<T> ranks_of(const std::string& method, const Matrix<T>& w, const InputStatistics& inputs);

}  // namespace sten::calibrate
