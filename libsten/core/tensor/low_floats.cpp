// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/tensor/low_floats.h"

#include <bit>
#include <cmath>

#include "kernels/floats.h"
#include "kernels/interleaved.h"
#include "libsten/core/base/error.h"
#include "libsten/core/base/parallel.h"

namespace sten {

namespace {

// The least values that are rounded to infinity.
constexpr float least_beyond_f16 = 65520, least_beyond_bf16 = 0x1.ffp127F;

}  // namespace

std::uint16_t round_to_f16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000u);
  const std::uint32_t size = bits & 0x7fffffffu;
  const auto with_sign = [&](std::uint32_t b) { return static_cast<std::uint16_t>(sign | b); };
  if (size > 0x7f800000u) return with_sign(0x7e00u | (size >> 13 & 0x3ffu));
  if (size >= std::bit_cast<std::uint32_t>(least_beyond_f16)) return with_sign(0x7c00u);
  // Next to 0.5, the last bit of a float32 has the value of the smallest binary16, 2^-24.
  if (size < 0x38800000u)  // 2^-14
    return with_sign(std::bit_cast<std::uint32_t>(std::bit_cast<float>(size) + 0.5f) -
                     std::bit_cast<std::uint32_t>(0.5f));
  // Rounds to 10 bits of fraction and changes the exponent's bias.
  return with_sign((size + 0xfffu + (size >> 13 & 1u) - (std::uint32_t{112} << 23)) >> 13);
}

namespace {

// Converts all values of x, in parallel.
template <class From, class To, class F>
Tensor converted(const Tensor& x, DType dtype, F&& convert) {
  const auto from = x.values()->as<From>();
  Values values = Values::uninitialized(dtype, x.values()->size());
  To* const to = values.mutate<To>().data();
  parallel_for(std::ssize(from), Index{1} << 16, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) to[i] = convert(from[i]);
  });
  return x.with_values(std::move(values));
}

}  // namespace

Tensor widened(const Tensor& x) {
  using Bits = std::uint16_t;
  if (!is_low_float(x.dtype()) || !x.values()) return x;
  if (x.dtype() == DType::F16)
    return converted<Bits, float>(x, DType::F32,
                                  [](Bits b) { return kernels::decode_f16_bits(b); });
  return converted<Bits, float>(x, DType::F32, [](Bits b) { return kernels::widen_bf16(b); });
}

Tensor rounded_to(DType to, const Tensor& x) {
  using Bits = std::uint16_t;
  if (!is_low_float(to) || x.dtype() != DType::F32 || !x.values()) return x;
  if (to == DType::F16)
    return converted<float, Bits>(x, to, [](float v) { return round_to_f16(v); });
  return converted<float, Bits>(x, to, [](float v) { return kernels::round_to_bf16(v); });
}

Tensor converted_to(DType to, const Tensor& x) {
  if (to == x.dtype() || (to != DType::F32 && !is_low_float(to))) return x;
  const Tensor wide = widened(x);
  if (is_low_float(to) && wide.dtype() == DType::F32 && wide.values()) {
    const float least_beyond = to == DType::F16 ? least_beyond_f16 : least_beyond_bf16;
    for (const float v : wide.values()->as<float>())
      if (std::isfinite(v) && std::abs(v) >= least_beyond)
        fail("the value {} is beyond the range of {}", v, name_of(to));
  }
  return rounded_to(to, wide);
}

}  // namespace sten
