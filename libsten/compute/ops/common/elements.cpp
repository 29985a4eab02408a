// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/ops/common/elements.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "kernels/floats.h"
#include "libsten/compute/ops/common/device.h"
#include "libsten/core/base/error.h"

namespace sten {
namespace {

// Stored type of dtypes without arithmetic.
struct Truth {
  std::uint8_t byte;
};
struct F16 {
  std::uint16_t bits;
};
struct BF16 {
  std::uint16_t bits;
};

// Calls f(T{}) with the type of elements.
template <class F>
void with_element(std::string_view op, DType dtype, F&& f) {
  switch (dtype) {
    case DType::BOOL:
      return f(Truth{});
    case DType::U8:
      return f(std::uint8_t{});
    case DType::I8:
      return f(std::int8_t{});
    case DType::U16:
      return f(std::uint16_t{});
    case DType::I16:
      return f(std::int16_t{});
    case DType::U32:
      return f(std::uint32_t{});
    case DType::I32:
      return f(std::int32_t{});
    case DType::U64:
      return f(std::uint64_t{});
    case DType::I64:
      return f(std::int64_t{});
    case DType::F16:
      return f(F16{});
    case DType::BF16:
      return f(BF16{});
    case DType::F32:
      return f(float{});
    case DType::F64:
      return f(double{});
    default:
      fail_usage("{}: {} elements do not support arithmetic", op, name_of(dtype));
  }
}

// double, std::int64_t and std::uint64_t together hold every element exactly.
double widened(float v) { return v; }
double widened(double v) { return v; }
double widened(F16 v) { return kernels::decode_f16_bits(v.bits); }
double widened(BF16 v) { return kernels::FloatBits<kernels::FloatKind::bf16>::decode(v.bits); }
std::uint64_t widened(Truth v) { return v.byte != 0; }
template <std::signed_integral T>
std::int64_t widened(T v) {
  return v;
}
template <std::unsigned_integral T>
std::uint64_t widened(T v) {
  return v;
}

// A 16-bit float with so many exponent bits.
template <int exponent_bits>
std::uint16_t rounded_to_16_bits(double v) {
  constexpr int fraction_bits = 15 - exponent_bits, bias = (1 << (exponent_bits - 1)) - 1;
  constexpr int infinity = ((1 << exponent_bits) - 1) << fraction_bits;
  const int sign = std::signbit(v) ? 0x8000 : 0;
  if (std::isnan(v)) return static_cast<std::uint16_t>(sign | infinity | 1 << (fraction_bits - 1));
  if (std::isinf(v)) return static_cast<std::uint16_t>(sign | infinity);
  // |v| = units * 2^(exponent - fraction_bits); the leading bit of units is implicit.
  const int exponent = v == 0 ? 1 - bias : std::max(std::ilogb(v), 1 - bias);
  const double units = std::nearbyint(std::ldexp(std::abs(v), fraction_bits - exponent));
  const int bits = static_cast<int>(units) + (exponent + bias - 1) * (1 << fraction_bits);
  return static_cast<std::uint16_t>(sign | std::min(bits, infinity));
}

// Rounds towards zero.
template <class T>
T truncated(double v) {
  constexpr double end = 9223372036854775808.0;  // 2^63
  if (std::isnan(v)) return 0;
  if (v >= end) {
    if constexpr (std::same_as<T, std::uint64_t>)
      return v < 2 * end ? static_cast<T>(v) : std::numeric_limits<T>::max();
    return static_cast<T>(std::numeric_limits<std::int64_t>::max());
  }
  return static_cast<T>(v > -end ? static_cast<std::int64_t>(v)
                                 : std::numeric_limits<std::int64_t>::min());
}

template <class T, class W>
T narrowed(W v) {
  if constexpr (std::same_as<T, Truth>)
    return {static_cast<std::uint8_t>(v != 0)};
  else if constexpr (std::same_as<T, F16>)
    return {rounded_to_16_bits<5>(static_cast<double>(v))};
  else if constexpr (std::same_as<T, BF16>)
    return {rounded_to_16_bits<8>(static_cast<double>(v))};
  else if constexpr (std::integral<T> && std::floating_point<W>)
    return truncated<T>(v);
  else
    return static_cast<T>(v);
}

template <class W>
void store(std::string_view op, const W* x, Index n, DType dtype, std::byte* to) {
  with_element(op, dtype, [&]<class T>(T) {
    T* y = reinterpret_cast<T*>(to);
    for (Index i = 0; i < n; ++i) y[i] = narrowed<T>(x[i]);
  });
}

}  // namespace

Values as_dtype(std::string_view op, const Values& x, DType to) {
  if (x.dtype() == to) return x;
  if (x.device() == Device::cuda) return cast_on_device(op, x, to);
  with_element(op, to, [](auto) {});
  Values y = Values::uninitialized(to, x.size());
  std::byte* out = y.mutate_bytes();
  const Index width = width_of(to);
  with_element(op, x.dtype(), [&]<class S>(S) {
    const S* in = x.as<S>().data();
    parallel_for(x.size(), Index{1} << 14, [&](Index begin, Index end) {
      std::array<decltype(widened(S{})), 512> wide;
      for (Index i = begin; i < end; i += std::ssize(wide)) {
        const Index n = std::min(std::ssize(wide), end - i);
        for (Index k = 0; k < n; ++k) wide[k] = widened(in[i + k]);
        store(op, wide.data(), n, to, out + i * width);
      }
    });
  });
  return y;
}

DType computed_in(std::string_view op, DType dtype) {
  if (dtype == DType::F32 || dtype == DType::F64) return dtype;
  if (dtype == DType::F16 || dtype == DType::BF16) return DType::F32;
  with_element(op, dtype, [](auto) {});
  return DType::I64;
}

Dense to_compute(std::string_view op, const Dense& x, DType in) {
  if (x.dtype() == DType::U64 && in == DType::I64)
    for (const std::uint64_t v : x.values.as<std::uint64_t>())
      if (v >> 63) fail_usage("{}: the U64 element {} is above the largest I64 value", op, v);
  return {x.extents, as_dtype(op, x.values, in)};
}

}  // namespace sten
