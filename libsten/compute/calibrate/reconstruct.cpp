// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/calibrate/reconstruct.h"

#include <map>
#include <string_view>

#include "libsten/compute/linalg/cholesky.h"

namespace sten::calibrate {
namespace {

// More steps come closer to the least squares of the calibration data, but not of other data
// (docs/notebook/pruning_methods.md). A step costs a product with the Gram matrix.
constexpr int most_steps = 10;
constexpr double enough = 2e-3;  // relative to the norm of the first residual

std::string_view row_of(const Kept& kept, Index row, Index cols) {
  return {reinterpret_cast<const char*>(kept.data()) + row * cols, static_cast<std::size_t>(cols)};
}

using RowsByPattern = std::map<std::string_view, std::vector<Index>>;

RowsByPattern rows_by_pattern(const Kept& kept, Index rows, Index cols) {
  RowsByPattern by;
  for (Index r = 0; r < rows; ++r) by[row_of(kept, r, cols)].push_back(r);
  return by;
}

Index count(std::string_view pattern) { return std::ranges::count(pattern, '\1'); }

// Solves all rows with the same kept inputs.
template <class T>
void solve(std::string_view pattern, const std::vector<Index>& rows, const Gram<T>& gram,
           const Matrix<T>& targets, Matrix<T>& out) {
  std::vector<Index> at;
  for (Index c = 0; c < std::ssize(pattern); ++c)
    if (pattern[c]) at.push_back(c);
  const Index n = std::ssize(at);
  std::vector<double> a(n * n), b(rows.size() * at.size());
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j <= i; ++j) a[i * n + j] = gram.at(at[i], at[j]);
  if (!factor_cholesky(n, a.data())) fail_not_positive();
  for (Index r = 0; r < std::ssize(rows); ++r)
    for (Index i = 0; i < n; ++i) b[r * n + i] = targets.row(rows[r])[at[i]];
  solve_cholesky(n, a.data(), std::ssize(rows), b.data());
  for (Index r = 0; r < std::ssize(rows); ++r)
    for (Index i = 0; i < n; ++i) out.row(rows[r])[at[i]] = static_cast<T>(b[r * n + i]);
}

// Conjugate gradients for each of some rows, with inputs scaled so that the diagonal is 1.
template <class T>
class Gradients {
 public:
  Gradients(const Gram<T>& gram, const std::vector<T>& norm) : gram_(gram), norm_(norm) {
    for (const T n : norm) inverse_.push_back(1 / n);
  }

  void solve(const Matrix<T>& dense, const std::uint8_t* kept, const T* targets, Index first,
             Index rows, Matrix<T>& out) const {
    const Index in = gram_.size(), n = rows * in;
    std::vector<T> x(n), residual(n), direction(n), product(n);
    for (Index i = 0; i < n; ++i)
      if (kept[i]) x[i] = dense.row(first)[i] * norm_[i % in];
    multiply(x, rows, product);
    std::vector<double> before(rows), start(rows);
    for (Index r = 0; r < rows; ++r) {
      for (Index i = r * in; i < (r + 1) * in; ++i) {
        residual[i] = kept[i] ? targets[i] / norm_[i - r * in] - product[i] : 0;
        start[r] += static_cast<double>(residual[i]) * residual[i];
      }
      before[r] = start[r];
    }
    direction = residual;
    for (int step = 0; step < most_steps && !is_done(before, start); ++step) {
      multiply(direction, rows, product);
      for (Index r = 0; r < rows; ++r)
        advance(kept, r * in, in, before[r], start[r], x, residual, direction, product);
    }
    for (Index i = 0; i < n; ++i) out.row(first)[i] = kept[i] ? x[i] / norm_[i % in] : 0;
  }

 private:
  // Multiplies by the scaled Gram matrix without storing it, which would double the memory.
  void multiply(const std::vector<T>& a, Index rows, std::vector<T>& y) const {
    const Index in = gram_.size();
    std::vector<T> plain(a.size());
    for (Index at = 0; at < rows * in; at += in)
      for (Index j = 0; j < in; ++j) plain[at + j] = a[at + j] * inverse_[j];
    multiply_rows(plain.data(), rows, in, gram_.plain(), in, y.data());
    const auto added = static_cast<T>(gram_.added());
    for (Index at = 0; at < rows * in; at += in)
      for (Index j = 0; j < in; ++j) y[at + j] = (y[at + j] + added * plain[at + j]) * inverse_[j];
  }
  static bool is_done(const std::vector<double>& now, const std::vector<double>& start) {
    for (std::size_t r = 0; r < now.size(); ++r)
      if (now[r] > enough * enough * start[r]) return false;
    return true;
  }
  // One iteration for the row that starts at `at`.
  static void advance(const std::uint8_t* kept, Index at, Index in, double& before, double start,
                      std::vector<T>& x, std::vector<T>& residual, std::vector<T>& direction,
                      const std::vector<T>& product) {
    if (before <= enough * enough * start) return;
    double curvature = 0, after = 0;
    for (Index i = at; i < at + in; ++i)
      curvature += static_cast<double>(direction[i]) * product[i];
    if (!(curvature > 0)) return;
    const auto length = static_cast<T>(before / curvature);
    for (Index i = at; i < at + in; ++i) {
      if (!kept[i]) continue;
      x[i] += length * direction[i];
      residual[i] -= length * product[i];
      after += static_cast<double>(residual[i]) * residual[i];
    }
    const auto share = static_cast<T>(after / before);
    for (Index i = at; i < at + in; ++i) direction[i] = residual[i] + share * direction[i];
    before = after;
  }

  const Gram<T>& gram_;
  const std::vector<T>& norm_;
  std::vector<T> inverse_;  // 1 / norm
};

}  // namespace

template <class T>
Matrix<T> reconstruct_by_factors(const Matrix<T>& dense, const Kept& kept, const Gram<T>& gram) {
  const Matrix<T> targets = gram.targets(dense);
  Matrix<T> out(dense.rows, dense.cols);
  const RowsByPattern by = rows_by_pattern(kept, dense.rows, dense.cols);
  std::vector<RowsByPattern::const_iterator> each;
  for (auto i = by.begin(); i != by.end(); ++i) each.push_back(i);
  parallel_for(std::ssize(each), 1, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) solve(each[i]->first, each[i]->second, gram, targets, out);
  });
  return out;
}

template <class T>
Matrix<T> reconstruct_by_gradients(const Matrix<T>& dense, const Kept& kept, const Gram<T>& gram) {
  const Index in = gram.size();
  const std::vector<T> norm = gram.norms();
  const Gradients<T> by(gram, norm);
  Matrix<T> out(dense.rows, dense.cols);
  for_row_blocks(dense.rows, [&](Index begin, Index end) {
    std::vector<T> targets((end - begin) * in);
    gram.targets(dense, begin, end, targets.data());
    by.solve(dense, kept.data() + begin * in, targets.data(), begin, end - begin, out);
  });
  return out;
}

template <class T>
Matrix<T> reconstruct(const Matrix<T>& dense, const Kept& kept, const Gram<T>& gram) {
  double factors = 0;
  for (const auto& [pattern, rows] : rows_by_pattern(kept, dense.rows, dense.cols)) {
    const auto n = static_cast<double>(count(pattern));
    factors += n * n * n / 3 + 2 * n * n * static_cast<double>(rows.size());
  }
  const auto in = static_cast<double>(dense.cols);
  const double gradients = 2 * in * in * static_cast<double>(dense.rows) * most_steps;
  return factors <= gradients ? reconstruct_by_factors(dense, kept, gram)
                              : reconstruct_by_gradients(dense, kept, gram);
}

template Matrix<float> reconstruct_by_factors(const Matrix<float>&, const Kept&,
                                              const Gram<float>&);
template Matrix<float> reconstruct_by_gradients(const Matrix<float>&, const Kept&,
                                                const Gram<float>&);
template Matrix<float> reconstruct(const Matrix<float>&, const Kept&, const Gram<float>&);
template Matrix<double> reconstruct(const Matrix<double>&, const Kept&, const Gram<double>&);

}  // namespace sten::calibrate
