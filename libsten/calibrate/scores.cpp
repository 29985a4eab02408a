#include "libsten/calibrate/scores.h"

#include <cmath>

namespace sten::calibrate {

std::vector<double> squares_of(const InputStatistics& inputs) {
  if (!inputs.squares.empty()) return inputs.squares;
  std::vector<double> squares(static_cast<std::size_t>(inputs.gram.extents[0]));
  const auto gram = inputs.gram.values.as<float>();
  for (Index j = 0; j < std::ssize(squares); ++j) squares[j] = gram[j * std::ssize(squares) + j];
  return squares;
}

Ranks::Ranks(const std::string& method, Index rows, Index cols, bool transposed,
             const WeightRow& weights, const InputStatistics& inputs)
    : kind_(method == "wanda" ? Kind::wanda
            : method == "ria" ? Kind::ria
                              : Kind::magnitude),
      cols_(cols),
      transposed_(transposed) {
  if (kind_ == Kind::magnitude) return;
  for (const double s : squares_of(inputs)) {
    norms_.push_back(static_cast<float>(std::sqrt(s)));
    roots_.push_back(std::pow(s, 0.25));
  }
  if (kind_ == Kind::ria) sum_up(rows, weights);
}

void Ranks::sum_up(Index rows, const WeightRow& weights) {
  by_row_.resize(static_cast<std::size_t>(rows));
  by_column_.resize(static_cast<std::size_t>(cols_));
  std::vector<float> buffer;
  for (Index r = 0; r < rows; ++r) {
    const float* w = weights(r, buffer);
    double sum = 0;
    for (Index c = 0; c < cols_; ++c) {
      const double v = std::abs(static_cast<double>(w[c]));
      sum += v;
      by_column_[c] += v;
    }
    by_row_[r] = sum;
  }
  // What is all 0 has ranks of 0.
  for (std::vector<double>* all : {&by_row_, &by_column_})
    for (double& v : *all) v = v > 0 ? 1 / v : 0;
}

void Ranks::of_row(Index r, const float* w, float* ranks) const {
  switch (kind_) {
    case Kind::magnitude:
      for (Index c = 0; c < cols_; ++c) ranks[c] = std::abs(w[c]);
      return;
    case Kind::wanda:
      if (transposed_)
        for (Index c = 0; c < cols_; ++c) ranks[c] = std::abs(w[c]) * norms_[r];
      else
        for (Index c = 0; c < cols_; ++c) ranks[c] = std::abs(w[c]) * norms_[c];
      return;
    case Kind::ria:
      for (Index c = 0; c < cols_; ++c)
        ranks[c] = static_cast<float>(std::abs(static_cast<double>(w[c])) *
                                      (by_row_[r] + by_column_[c]) * roots_[transposed_ ? r : c]);
      return;
  }
}

Matrix ranks_of(const std::string& method, const Matrix& w, const InputStatistics& inputs) {
  const auto weights = [&](Index r, std::vector<float>&) { return w.row(r); };
  const Ranks ranks(method, w.rows, w.cols, false, weights, inputs);
  Matrix out(w.rows, w.cols);
  for_row_blocks(w.rows, [&](Index begin, Index end) {
    for (Index r = begin; r < end; ++r) ranks.of_row(r, w.row(r), out.row(r));
  });
  return out;
}

}  // namespace sten::calibrate
