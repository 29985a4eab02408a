// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/tensor/low_floats.h"

#include <algorithm>
#include <bit>

#include "kernels/floats.h"
#include "kernels/interleaved.h"

namespace sten {

std::uint16_t round_to_f16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000u);
  const std::uint32_t size = bits & 0x7fffffffu;
  const auto with_sign = [&](std::uint32_t b) { return static_cast<std::uint16_t>(sign | b); };
  if (size > 0x7f800000u) return with_sign(0x7e00u | (size >> 13 & 0x3ffu));
  if (size >= 0x477ff000u) return with_sign(0x7c00u);  // 65520
  // Next to 0.5, the last bit of a float32 has the value of the smallest binary16, 2^-24.
  if (size < 0x38800000u)  // 2^-14
    return with_sign(std::bit_cast<std::uint32_t>(std::bit_cast<float>(size) + 0.5f) -
                     std::bit_cast<std::uint32_t>(0.5f));
  // Rounds to 10 bits of fraction and changes the exponent's bias.
  return with_sign((size + 0xfffu + (size >> 13 & 1u) - (std::uint32_t{112} << 23)) >> 13);
}

Tensor widened(const Tensor& x) {
  if (!is_low_float(x.dtype()) || !x.values()) return x;
  const auto from = x.values()->as<std::uint16_t>();
  Values to = Values::uninitialized(DType::F32, x.values()->size());
  std::ranges::transform(from, to.mutate<float>().begin(),
                         x.dtype() == DType::F16 ? kernels::decode_f16_bits : kernels::widen_bf16);
  return x.with_values(std::move(to));
}

Tensor rounded_to(DType to, const Tensor& x) {
  if (!is_low_float(to) || x.dtype() != DType::F32 || !x.values()) return x;
  const auto from = x.values()->as<float>();
  Values low = Values::uninitialized(to, x.values()->size());
  std::ranges::transform(from, low.mutate<std::uint16_t>().begin(),
                         to == DType::F16 ? round_to_f16 : kernels::round_to_bf16);
  return x.with_values(std::move(low));
}

}  // namespace sten
