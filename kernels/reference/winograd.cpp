// SPDX-License-Identifier: Apache-2.0
// The matrices and transforms of kernels/winograd.h in double.
#include "kernels/winograd.h"

namespace sten::kernels {
namespace {

using Size = std::int64_t;

// Toom-Cook construction: for m + r - 1 = 6 points p_j, including infinity, row j of A^T has the
// powers p_j^i, G the powers divided by the products of p_j - p_k, and B^T the coefficients of the
// products of x - p_k.
constexpr double a = 0.75, b = 1.5, aa = a * a, bb = b * b;
constexpr double n0 = aa * bb, na = 2 * aa * (aa - bb), nb = 2 * bb * (bb - aa);

constexpr double input_matrix[6][6] = {{n0, 0, -aa - bb, 0, 1, 0}, {0, -a* bb, -bb, a, 1, 0},
                                       {0, a* bb, -bb, -a, 1, 0},  {0, -b* aa, -aa, b, 1, 0},
                                       {0, b* aa, -aa, -b, 1, 0},  {0, n0, 0, -aa - bb, 0, 1}};
constexpr double output_matrix[4][6] = {{1, 1, 1, 1, 1, 0},
                                        {0, a, -a, b, -b, 0},
                                        {0, aa, aa, bb, bb, 0},
                                        {0, a* aa, -a* aa, b* bb, -b* bb, 1}};
constexpr double filter_matrix[6][3] = {{1 / n0, 0, 0},
                                        {1 / na, a / na, aa / na},
                                        {1 / na, -a / na, aa / na},
                                        {1 / nb, b / nb, bb / nb},
                                        {1 / nb, -b / nb, bb / nb},
                                        {0, 0, 1}};

// The element of `matrix` at row i, column j; transposed: at row j, column i.
template <bool transposed, Size rows, Size cols>
double element(const double (&matrix)[rows][cols], Size i, Size j) {
  return transposed ? matrix[j][i] : matrix[i][j];
}

// to(i, j, sum over k and l of M(i, k) from(k, l) M(j, l)) with M [n, m].
template <bool transposed, Size n, Size m, Size rows, Size cols, class From, class To>
void twice(const double (&matrix)[rows][cols], From from, To to) {
  for (Size i = 0; i < n; ++i)
    for (Size j = 0; j < n; ++j) {
      double sum = 0;
      for (Size k = 0; k < m; ++k)
        for (Size l = 0; l < m; ++l)
          sum += element<transposed>(matrix, i, k) * from(k, l) * element<transposed>(matrix, j, l);
      to(i, j, static_cast<float>(sum));
    }
}

bool is_in(const TilePart& p, Size row, Size col) {
  return row >= p.row0 && row < p.row1 && col >= p.col0 && col < p.col1;
}

void input(const float* x, Size row, Size channels, const TilePart& part, float* v, Size plane) {
  for (Size c = 0; c < channels; ++c)
    twice<false, 6, 6>(
        input_matrix,
        [&](Size i, Size j) { return is_in(part, i, j) ? x[i * row + j * channels + c] : 0.0f; },
        [&](Size i, Size j, float sum) { v[(i * 6 + j) * plane + c] = sum; });
}

void output(const float* m, Size plane, Size channels, const float* bias, const TilePart& part,
            float* y, Size row) {
  for (Size c = 0; c < channels; ++c)
    twice<false, 4, 6>(
        output_matrix, [&](Size i, Size j) { return m[(i * 6 + j) * plane + c]; },
        [&](Size i, Size j, float sum) {
          if (is_in(part, i, j)) y[i * row + j * channels + c] = bias ? sum + bias[c] : sum;
        });
}

void output_gradient(const float* dy, Size row, Size channels, const TilePart& part, float* z,
                     Size plane) {
  for (Size c = 0; c < channels; ++c)
    twice<true, 6, 4>(
        output_matrix,
        [&](Size i, Size j) { return is_in(part, i, j) ? dy[i * row + j * channels + c] : 0.0f; },
        [&](Size i, Size j, float sum) { z[(i * 6 + j) * plane + c] = sum; });
}

void filter(const float* w, Size stride, Size n, float* u, Size plane) {
  for (Size c = 0; c < n; ++c)
    twice<false, 6, 3>(
        filter_matrix, [&](Size i, Size j) { return w[(i * 3 + j) * stride + c]; },
        [&](Size i, Size j, float sum) { u[(i * 6 + j) * plane + c] = sum; });
}

void filter_gradient(const float* du, Size plane, Size n, float* dw, Size stride) {
  for (Size c = 0; c < n; ++c)
    twice<true, 3, 6>(
        filter_matrix, [&](Size i, Size j) { return du[(i * 6 + j) * plane + c]; },
        [&](Size i, Size j, float sum) { dw[(i * 3 + j) * stride + c] = sum; });
}

}  // namespace

const WinogradTable* winograd_reference() {
  static constexpr WinogradTable table{input, output, output_gradient, filter, filter_gradient};
  return &table;
}

}  // namespace sten::kernels
