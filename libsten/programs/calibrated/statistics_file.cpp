// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/calibrated/statistics_file.h"

#include <cmath>

#include "libsten/compute/ops/common/elements.h"
#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"

namespace sten {
namespace {

constexpr const char* squares = ".squares";
constexpr const char* gram = ".gram";
constexpr const char* cross = ".cross";

Index inputs_of(const TensorInfo& t, const CalibratedOptions& how) {
  if (how.transposed) return t.shape.front();
  Index in = 1;
  for (std::size_t d = 1; d < t.shape.size(); ++d) in *= t.shape[d];
  return in;
}

}  // namespace

const CheckpointTensor* StatisticsFile::find(const TensorInfo& t, const char* what) const {
  return file_.find(t.name + what);
}

void StatisticsFile::check(const TensorInfo& t, const CalibratedOptions& how) const {
  const CheckpointTensor *sums = find(t, squares), *products = find(t, gram);
  if (!products && (!sums || computes_values(how)))
    fail("{}: missing {} to prune {}", file_.name(),
         quote(t.name + (computes_values(how) ? gram : squares)), quote(t.name));
  const Index in = inputs_of(t, how);
  const auto check_shape = [&](const CheckpointTensor* s, const Shape& shape) {
    if (s && s->shape != shape)
      fail("{}: {} has shape {}, but {} takes {} inputs", file_.name(), quote(s->name),
           to_string(s->shape), quote(t.name), in);
    if (s && s->dtype != DType::F32 && s->dtype != DType::F64)
      fail("{}: {}: expected F32 or F64, got {}", file_.name(), quote(s->name), name_of(s->dtype));
  };
  check_shape(sums, {in});
  check_shape(products, {in, in});
  check_shape(find(t, cross), {in, in});
}

Dense StatisticsFile::read(const CheckpointTensor& t) const {
  Dense x = file_.load(t).to_dense();
  x.values = as_dtype("statistics", x.values, DType::F32);
  const auto v = x.values.as<float>();
  for (Index i = 0; i < std::ssize(v); ++i)
    if (!std::isfinite(v[i]))
      fail("{}: {}: element {} is not finite in F32", file_.name(), quote(t.name), i);
  return x;
}

void StatisticsFile::check_gram(const CheckpointTensor& t, std::span<const float> v,
                                Index in) const {
  for (Index i = 0; i < in; ++i)
    if (v[i * in + i] < 0)
      fail("{}: {}: element {}: expected a sum of squares >= 0", file_.name(), quote(t.name),
           i * in + i);
  constexpr Index tile = 64;  // both triangles in cache
  for (Index i0 = 0; i0 < in; i0 += tile)
    for (Index j0 = 0; j0 <= i0; j0 += tile)
      for (Index i = i0; i < std::min(in, i0 + tile); ++i)
        for (Index j = j0; j < std::min(i, j0 + tile); ++j) {
          const double difference = static_cast<double>(v[i * in + j]) - v[j * in + i];
          if (difference * difference > 1e-6 * v[i * in + i] * v[j * in + j])
            fail("{}: {} is not symmetric: elements {} and {} differ", file_.name(), quote(t.name),
                 i * in + j, j * in + i);
        }
}

InputStatistics StatisticsFile::read(const TensorInfo& t, const CalibratedOptions& how) const {
  InputStatistics s;
  const CheckpointTensor *sums = find(t, squares), *products = find(t, gram),
                         *mixed = find(t, cross);
  // A Gram matrix that the method does not need still gives the error, but takes longer to read.
  if (products && (computes_values(how) || !sums)) {
    s.gram = read(*products);
    const Index in = s.gram.extents[0];
    const auto v = s.gram.values.as<float>();
    check_gram(*products, v, in);
    if (mixed) s.cross = read(*mixed);
  }
  if (sums) {
    const Dense x = read(*sums);
    const auto v = x.values.as<float>();
    for (Index j = 0; j < std::ssize(v); ++j)
      if (v[j] < 0)
        fail("{}: {}: element {}: expected a sum of squares >= 0", file_.name(), quote(sums->name),
             j);
    s.squares.assign(v.begin(), v.end());
  }
  return s;
}

void StatisticsFile::drop(const TensorInfo& t) const {
  for (const char* what : {squares, gram, cross})
    if (const CheckpointTensor* s = find(t, what)) file_.drop(*s);
}

}  // namespace sten
