// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/calibrate/scores.h"

#include <cmath>

#include "libsten/core/base/error.h"

namespace sten::calibrate {

std::vector<double> squares_of(const InputStatistics& inputs) {
  if (!inputs.squares.empty()) return inputs.squares;
  std::vector<double> squares(static_cast<std::size_t>(inputs.gram.extents[0]));
  const auto gram = inputs.gram.values.as<float>();
  for (Index j = 0; j < std::ssize(squares); ++j) squares[j] = gram[j * std::ssize(squares) + j];
  return squares;
}

template <class T>
Ranks<T>::Ranks(const std::string& method, Index rows, Index cols, bool transposed,
                const WeightRow<T>& weights, const InputStatistics& inputs)
    : kind_(method == "wanda" ? Kind::wanda
            : method == "ria" ? Kind::ria
                              : Kind::magnitude),
      cols_(cols),
      transposed_(transposed) {
  if (kind_ == Kind::magnitude) return;
  const std::vector<double> squares = squares_of(inputs);
  double largest = 0;
  for (const double s : squares) {
    if (!std::isfinite(s)) fail("the sums of squares of the layer's inputs are not finite");
    largest = std::max(largest, s);
  }
  // Scales norms and their roots to at most 1, so that no rank exceeds its weight.
  const int exponent = largest > 0 ? std::ilogb(std::sqrt(largest)) + 1 : 0;
  for (const double s : squares) {
    norms_.push_back(static_cast<T>(std::scalbn(std::sqrt(s), -exponent)));
    roots_.push_back(std::scalbn(std::pow(s, 0.25), -exponent / 2));
  }
  if (kind_ == Kind::ria) sum_up(rows, weights);
}

template <class T>
void Ranks<T>::sum_up(Index rows, const WeightRow<T>& weights) {
  by_row_.resize(static_cast<std::size_t>(rows));
  by_column_.resize(static_cast<std::size_t>(cols_));
  std::vector<T> buffer;
  if constexpr (std::is_same_v<T, double>) {  // sums of float32 in double do not overflow
    double largest = 0;
    for (Index r = 0; r < rows; ++r) {
      const T* w = weights(r, buffer);
      for (Index c = 0; c < cols_; ++c) largest = std::max(largest, std::abs(w[c]));
    }
    exponent_ = scale_exponent(largest);
  }
  for (Index r = 0; r < rows; ++r) {
    const T* w = weights(r, buffer);
    double sum = 0;
    for (Index c = 0; c < cols_; ++c) {
      const double v = scaled(w[c]);
      sum += v;
      by_column_[c] += v;
    }
    by_row_[r] = sum;
  }
  // Rows and columns of zeros get ranks of 0.
  for (std::vector<double>* all : {&by_row_, &by_column_})
    for (double& v : *all) v = v > 0 ? 1 / v : 0;
}

template <class T>
double Ranks<T>::scaled(T w) const {
  const double v = std::abs(static_cast<double>(w));
  return exponent_ == 0 ? v : std::scalbn(v, -exponent_);
}

template <class T>
void Ranks<T>::of_row(Index r, const T* w, T* ranks) const {
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
        ranks[c] = static_cast<T>(scaled(w[c]) * (by_row_[r] + by_column_[c]) *
                                  roots_[transposed_ ? r : c]);
      return;
  }
}

template <class T>
Matrix<T> ranks_of(const std::string& method, const Matrix<T>& w, const InputStatistics& inputs) {
  const auto weights = [&](Index r, std::vector<T>&) { return w.row(r); };
  const Ranks<T> ranks(method, w.rows, w.cols, false, weights, inputs);
  Matrix<T> out(w.rows, w.cols);
  for_row_blocks(w.rows, [&](Index begin, Index end) {
    for (Index r = begin; r < end; ++r) ranks.of_row(r, w.row(r), out.row(r));
  });
  return out;
}

template class Ranks<float>;
template class Ranks<double>;
template Matrix<float> ranks_of(const std::string&, const Matrix<float>&, const InputStatistics&);
template Matrix<double> ranks_of(const std::string&, const Matrix<double>&, const InputStatistics&);

}  // namespace sten::calibrate
