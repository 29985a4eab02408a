// Ranks that need no more than the norms of a layer's inputs.
#pragma once
#include <span>

#include "libsten/calibrate/layer.h"
#include "libsten/calibrate/matrix.h"

namespace sten::calibrate {

// sum of x_j^2, [in]: as given, or the diagonal of the Gram matrix.
std::vector<double> squares_of(const InputStatistics& inputs);

// Gives the weights of row r as float32: those in memory, or in `buffer`.
using WeightRow = std::function<const float*(Index r, std::vector<float>& buffer)>;

// The ranks, >= 0, of magnitude: |w|; of wanda: |w| |x_j|; and of ria by its formula (layer.h).
class Ranks {
 public:
  // Of weights [rows, cols]; inputs are the columns, or the rows of what is `transposed`.
  Ranks(const std::string& method, Index rows, Index cols, bool transposed,
        const WeightRow& weights, const InputStatistics& inputs);

  void of_row(Index r, const float* w, float* ranks) const;

 private:
  enum class Kind : std::uint8_t { magnitude, wanda, ria };
  void sum_up(Index rows, const WeightRow& weights);

  Kind kind_;
  Index cols_;
  bool transposed_;
  std::vector<float> norms_;                // wanda: of inputs
  std::vector<double> roots_;               // ria: of norms
  std::vector<double> by_row_, by_column_;  // ria: 1 / sums of |w|
};

Matrix ranks_of(const std::string& method, const Matrix& w, const InputStatistics& inputs);

}  // namespace sten::calibrate
