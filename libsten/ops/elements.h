// Elements of any dtype, and which dtype operators compute with them in.
#pragma once
#include <string_view>

#include "libsten/base/parallel.h"
#include "libsten/dispatch/operators.h"

namespace sten {

// BOOL, integers of 8 to 64 bits, F16, BF16, F32 and F64 as one another: Error (usage) for other
// dtypes. A number becomes the nearest float, of two the even one. A float becomes an integer
// towards zero, within 64 bits, and NaN becomes 0; of an integer the lowest bits stay. BOOL is
// whether a number is not 0. Of the same dtype it is x itself.
Values as_dtype(std::string_view op, const Values& x, DType to);

// F32, of F16 and BF16 too; F64; I64, of other integers and BOOL too. Error (usage) for others.
DType computed_in(std::string_view op, DType dtype);
// x in a dtype that computed_in() gives. Error (usage) for U64 elements that I64 has not.
Dense to_compute(std::string_view op, const Dense& x, DType in);
// f(T{}) of such a dtype.
template <class F>
decltype(auto) with_computed(DType in, F&& f) {
  if (in == DType::I64) return f(std::int64_t{});
  if (in == DType::F64) return f(double{});
  return f(float{});
}

// What a table of operators has for each of these types: K<T> of T.
template <template <class> class K>
struct ByType {
  K<float> f32;
  K<double> f64;
  K<std::int64_t> i64 = {};

  template <class T>
  const K<T>& of() const {
    if constexpr (std::same_as<T, float>)
      return f32;
    else if constexpr (std::same_as<T, double>)
      return f64;
    else
      return i64;
  }
};

// A dense tensor whose elements `fill(begin, end, T* to)` computes on threads(); T is any type of
// the dtype's width. See write_elements() for floats in other formats.
template <class T, class F>
Dense dense_elements(DType dtype, Shape shape, F&& fill) {
  const Index n = size_of(shape);
  Dense y{std::move(shape), Values::uninitialized(dtype, n)};
  T* to = y.values.mutate<T>().data();
  parallel_for(n, Index{1} << 14, [&](Index begin, Index end) { fill(begin, end, to + begin); });
  return y;
}

}  // namespace sten
