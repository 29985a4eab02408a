#include "libsten/compute/calibrate/sums.h"

#include <cmath>

#include "libsten/compute/calibrate/gram.h"
#include "libsten/compute/linalg/dense_gemm.h"
#include "libsten/core/base/error.h"

namespace sten {
namespace {

void add_product(Dense& to, Index rows, Index in, const float* a, const float* b) {
  std::vector<float> product(in * in);
  dense_transposed_gemm(in, in, rows, a, b, product.data());
  if (to.size() == 0) to = Dense::zeros(DType::F32, {in, in});
  float* sum = to.values.mutate<float>().data();
  for (Index i = 0; i < in * in; ++i) sum[i] += product[i];
}

}  // namespace

void InputSums::add(const Dense& x, const Dense& t) {
  if (x.extents.empty()) fail_usage("the input of a layer must have 1 or more axes, got a scalar");
  const Index in = x.extents.back();
  const calibrate::Matrix<float> seen = [&] {
    Dense flat = x;
    flat.extents = {in == 0 ? 0 : x.size() / in, in};
    return calibrate::matrix_of<float>(flat);
  }();
  sums_.samples += seen.rows;
  sums_.squares.resize(in);
  for (Index r = 0; r < seen.rows; ++r)
    for (Index j = 0; j < in; ++j)
      sums_.squares[j] += static_cast<double>(seen.row(r)[j]) * seen.row(r)[j];
  if (!gram_) return;
  add_product(sums_.gram, seen.rows, in, seen.values.data(), seen.values.data());
  if (!targets_) return;
  Dense flat = t;
  flat.extents = {seen.rows, in};
  const calibrate::Matrix<float> wanted = calibrate::matrix_of<float>(flat);
  add_product(sums_.cross, seen.rows, in, wanted.values.data(), seen.values.data());
  add_product(target_, seen.rows, in, wanted.values.data(), wanted.values.data());
}

double squares_of_outputs(const Tensor& w, const Dense& gram) {
  const Dense dense = w.to_dense();
  const int exponent = calibrate::scale_exponent(dense);
  const auto a = calibrate::matrix_of<float>(dense, exponent);
  return std::scalbn(calibrate::trace(a, gram.values.as<float>().data(), a), 2 * exponent);
}

}  // namespace sten
