// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/ops/products/bias.h"

#include <algorithm>

#include "kernels/rows.h"
#include "libsten/compute/ops/common/output.h"
#include "libsten/core/tensor/mask.h"

namespace sten {
namespace {

void add_rows(const float* x, Index rows, Index n, double* sums) {
  kernels::rows().add_rows(x, n, rows, n, sums);
}
void add_rows(const double* x, Index rows, Index n, double* sums) {
  for (Index r = 0; r < rows; ++r)
    for (Index i = 0; i < n; ++i) sums[i] += x[r * n + i];
}

}  // namespace

template <class T>
void add_bias(Index tokens, Index out, const T* b, T* y) {
  parallel_for(tokens, std::max<Index>(1, mask_grain / (out + 1)), [&](Index begin, Index end) {
    for (Index t = begin; t < end; ++t)
      for (Index j = 0; j < out; ++j) y[t * out + j] += b[j];
  });
}

template <class T>
Tensor bias_gradient(const OutFormat& format, Index tokens, Index out, const T* dy) {
  constexpr Index most = 16;
  const Index piece = std::max<Index>(1, ceil_div(tokens, most)), pieces = ceil_div(tokens, piece);
  std::vector<double> sums(std::max<Index>(1, pieces) * out);
  parallel_for(pieces, 1, [&](Index begin, Index end) {
    for (Index p = begin; p < end; ++p)
      add_rows(dy + p * piece * out, std::min(piece, tokens - p * piece), out,
               sums.data() + p * out);
  });
  for (Index p = 1; p < pieces; ++p)
    for (Index j = 0; j < out; ++j) sums[j] += sums[p * out + j];
  return write_each<T>(format, {out}, [&](Index j) { return static_cast<T>(sums[j]); });
}

template void add_bias(Index, Index, const float*, float*);
template void add_bias(Index, Index, const double*, double*);
template Tensor bias_gradient(const OutFormat&, Index, Index, const float*);
template Tensor bias_gradient(const OutFormat&, Index, Index, const double*);

}  // namespace sten
