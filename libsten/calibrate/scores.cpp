#include "libsten/calibrate/scores.h"

#include <cmath>

namespace sten::calibrate {
namespace {

template <class F>
Matrix ranks(const Matrix& w, F&& rank) {
  Matrix out(w.rows, w.cols);
  for_row_blocks(w.rows, [&](Index begin, Index end) {
    for (Index r = begin; r < end; ++r)
      for (Index c = 0; c < w.cols; ++c)
        out.row(r)[c] = static_cast<float>(rank(std::abs(static_cast<double>(w.row(r)[c])), r, c));
  });
  return out;
}

}  // namespace

std::vector<double> squares_of(const InputStatistics& inputs) {
  if (!inputs.squares.empty()) return inputs.squares;
  std::vector<double> squares(static_cast<std::size_t>(inputs.gram.extents[0]));
  const auto gram = inputs.gram.values.as<float>();
  for (Index j = 0; j < std::ssize(squares); ++j) squares[j] = gram[j * std::ssize(squares) + j];
  return squares;
}

Matrix magnitude_ranks(const Matrix& w) {
  return ranks(w, [](double v, Index, Index) { return v; });
}

Matrix wanda_ranks(const Matrix& w, std::span<const double> squares) {
  return ranks(w, [&](double v, Index, Index c) { return v * std::sqrt(squares[c]); });
}

Matrix ria_ranks(const Matrix& w, std::span<const double> squares) {
  std::vector<double> by_row(w.rows), by_col(w.cols);
  for (Index r = 0; r < w.rows; ++r)
    for (Index c = 0; c < w.cols; ++c) {
      const double v = std::abs(static_cast<double>(w.row(r)[c]));
      by_row[r] += v;
      by_col[c] += v;
    }
  return ranks(w, [&](double v, Index r, Index c) {
    if (v == 0) return 0.0;  // also in a row of zeros
    return (v / by_row[r] + v / by_col[c]) * std::pow(squares[c], 0.25);
  });
}

}  // namespace sten::calibrate
