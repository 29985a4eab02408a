// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/gguf/blocks.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "libsten/core/base/error.h"
#include "libsten/core/base/floats.h"
#include "libsten/core/base/text.h"
#include "libsten/core/tensor/low_floats.h"

namespace sten {
namespace {

int bits(std::byte b, int shift, int mask) { return std::to_integer<int>(b) >> shift & mask; }

float f16_at(const std::byte* at) {
  std::uint16_t value;
  std::memcpy(&value, at, sizeof(value));
  return FloatBits<FloatKind::f16>::decode(value);
}

void store_f16(float x, std::byte* to) {
  const std::uint16_t value = round_to_f16(x);
  std::memcpy(to, &value, sizeof(value));
}

// Blocks of 32 values; value v < 16 has the low half of byte v, value v + 16 the high half.
int nibble(const std::byte* q, int v) { return bits(q[v % 16], v / 16 * 4, 15); }

void q4_0(const std::byte* b, float* to) {  // d, 16 bytes
  const float d = f16_at(b);
  for (int v = 0; v < 32; ++v) to[v] = d * static_cast<float>(nibble(b + 2, v) - 8);
}

void q4_1(const std::byte* b, float* to) {  // d, m, 16 bytes
  const float d = f16_at(b), m = f16_at(b + 2);
  for (int v = 0; v < 32; ++v) {
    const float scaled = d * static_cast<float>(nibble(b + 4, v));
    to[v] = scaled + m;
  }
}

// The fifth bits of 32 values.
int fifth_bit(const std::byte* high, int v) { return bits(high[v / 8], v % 8, 1) << 4; }

void q5_0(const std::byte* b, float* to) {  // d, 4 bytes of fifth bits, 16 bytes
  const float d = f16_at(b);
  for (int v = 0; v < 32; ++v)
    to[v] = d * static_cast<float>((nibble(b + 6, v) | fifth_bit(b + 2, v)) - 16);
}

void q5_1(const std::byte* b, float* to) {  // d, m, 4 bytes of fifth bits, 16 bytes
  const float d = f16_at(b), m = f16_at(b + 2);
  for (int v = 0; v < 32; ++v) {
    const float scaled = d * static_cast<float>(nibble(b + 8, v) | fifth_bit(b + 4, v));
    to[v] = scaled + m;
  }
}

void q8_0(const std::byte* b, float* to) {  // d, 32 bytes
  const float d = f16_at(b);
  for (int v = 0; v < 32; ++v) to[v] = static_cast<float>(static_cast<std::int8_t>(b[2 + v])) * d;
}

void iq4_nl(const std::byte* b, float* to) {  // d, 16 bytes
  constexpr float values[] = {-127, -104, -83, -65, -49, -35, -22, -10,
                              1,    13,   25,  38,  53,  69,  89,  113};
  const float d = f16_at(b);
  for (int v = 0; v < 32; ++v) to[v] = d * values[nibble(b + 2, v)];
}

// Super-blocks of 256 values ("K"). Two bits of value v are in byte 32 * (v / 128) + v % 32.
int two_bits(const std::byte* q, int v) {
  return bits(q[v / 128 * 32 + v % 32], v % 128 / 32 * 2, 3);
}
// One bit of value v is in byte v % 32.
int one_bit(const std::byte* q, int v) { return bits(q[v % 32], v / 32, 1); }

void q2_k(const std::byte* b, float* to) {  // 16 scales, 64 bytes, d, dmin
  const float d = f16_at(b + 80), dmin = f16_at(b + 82);
  for (int v = 0; v < 256; ++v) {
    const std::byte scale = b[v / 16];
    const float dl = d * static_cast<float>(bits(scale, 0, 15));
    const float ml = dmin * static_cast<float>(bits(scale, 4, 15));
    const float scaled = dl * static_cast<float>(two_bits(b + 16, v));
    to[v] = scaled - ml;
  }
}

void q3_k(const std::byte* b, float* to) {  // 32 bytes of third bits, 64 bytes, 12 of scales, d
  const float d = f16_at(b + 108);
  const std::byte* scales = b + 96;
  for (int v = 0; v < 256; ++v) {
    const int g = v / 16;
    const int scale =
        (bits(scales[g % 8], g / 8 * 4, 15) | bits(scales[8 + g % 4], g / 4 * 2, 3) << 4) - 32;
    const float dl = d * static_cast<float>(scale);
    to[v] = dl * static_cast<float>(two_bits(b + 32, v) - (one_bit(b, v) ? 0 : 4));
  }
}

// Scale and minimum of group j of 8, six bits each, in 12 bytes.
struct ScaleMin {
  float scale, min;
};
ScaleMin scale_min(const std::byte* s, int j) {
  if (j < 4)
    return {static_cast<float>(bits(s[j], 0, 63)), static_cast<float>(bits(s[4 + j], 0, 63))};
  return {static_cast<float>(bits(s[4 + j], 0, 15) | bits(s[j - 4], 6, 3) << 4),
          static_cast<float>(bits(s[4 + j], 4, 15) | bits(s[j], 6, 3) << 4)};
}

// Four bits of value v, in groups of 32 that share 32 bytes two by two.
int four_bits(const std::byte* q, int v) {
  return bits(q[v / 64 * 32 + v % 32], v % 64 / 32 * 4, 15);
}

// d, dmin, 12 bytes of scales; then 32 bytes of fifth bits if `has_fifth`, and 128 bytes.
template <bool has_fifth>
void q4_k(const std::byte* b, float* to) {
  const float d = f16_at(b), dmin = f16_at(b + 2);
  const std::byte *fifth = b + 16, *q = b + (has_fifth ? 48 : 16);
  for (int v = 0; v < 256; ++v) {
    const ScaleMin s = scale_min(b + 4, v / 32);
    const float dl = d * s.scale, dm = dmin * s.min;
    const int value = four_bits(q, v) | (has_fifth ? one_bit(fifth, v) << 4 : 0);
    const float scaled = dl * static_cast<float>(value);
    to[v] = scaled - dm;
  }
}

void q6_k(const std::byte* b, float* to) {  // 128 bytes, 64 bytes, 16 scales, d
  const float d = f16_at(b + 208);
  for (int v = 0; v < 256; ++v) {
    const int low = bits(b[v / 128 * 64 + v % 64], v % 128 / 64 * 4, 15);
    const float dl = d * static_cast<float>(static_cast<std::int8_t>(b[192 + v / 16]));
    to[v] = dl * static_cast<float>((low | two_bits(b + 128, v) << 4) - 32);
  }
}

using Dequantize = void (*)(const std::byte*, float*);

Dequantize function_for(std::string_view type) {
  constexpr std::pair<std::string_view, Dequantize> functions[] = {
      {"Q4_0", q4_0},       {"Q4_1", q4_1}, {"Q5_0", q5_0},    {"Q5_1", q5_1},
      {"Q8_0", q8_0},       {"Q2_K", q2_k}, {"Q3_K", q3_k},    {"Q4_K", q4_k<false>},
      {"Q5_K", q4_k<true>}, {"Q6_K", q6_k}, {"IQ4_NL", iq4_nl}};
  for (const auto& [name, function] : functions)
    if (name == type) return function;
  fail_usage("{}: no blocks", type);
}

// The largest magnitude, and the first value that has it.
std::pair<float, float> largest(const float* x) {
  float most = 0, value = 0;
  for (int v = 0; v < 32; ++v)
    if (std::fabs(x[v]) > most) most = std::fabs(x[v]), value = x[v];
  return {most, value};
}

float inverse(float d) { return d == 0 ? 0.0f : 1.0f / d; }

// Within a type's range; the inverse of a tiny d is infinite.
int in_range(float x, int low, int high) {
  return x > static_cast<float>(low) ? static_cast<int>(std::fmin(x, static_cast<float>(high)))
                                     : low;
}

void to_q8_0(const float* x, std::byte* b) {
  const float d = largest(x).first / 127.0f, id = inverse(d);
  store_f16(d, b);
  for (int v = 0; v < 32; ++v)
    b[2 + v] = static_cast<std::byte>(in_range(std::round(x[v] * id), -128, 127) & 0xff);
}

void to_q4_0(const float* x, std::byte* b) {
  const float d = largest(x).second / -8.0f, id = inverse(d);
  store_f16(d, b);
  const auto quantized = [&](int v) {
    const float scaled = x[v] * id;
    return in_range(scaled + 8.5f, 0, 15);
  };
  for (int v = 0; v < 16; ++v)
    b[2 + v] = static_cast<std::byte>(quantized(v) | quantized(v + 16) << 4);
}

// To nearest, ties to even, with NaN quiet.
std::uint16_t to_bf16(float x) {
  const auto n = std::bit_cast<std::uint32_t>(x);
  if ((n & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>(n >> 16 | 64);
  return static_cast<std::uint16_t>((n + 0x7fffu + (n >> 16 & 1)) >> 16);
}

}  // namespace

void dequantize(const GgufType& type, std::span<const std::byte> from, std::span<float> to) {
  const Dequantize function = function_for(type.name);
  const std::byte* b = from.data();
  for (std::size_t i = 0; i < to.size(); i += type.elements, b += type.bytes) function(b, &to[i]);
}

bool can_quantize(const GgufType& type) {
  return type.name == "F32" || type.name == "F16" || type.name == "BF16" || type.name == "Q8_0" ||
         type.name == "Q4_0";
}

const GgufType* gguf_output_type(const std::string& name) {
  const GgufType* type = gguf_type(name);
  if (!type || !can_quantize(*type))
    fail_usage("--type: expected f32, f16, bf16, q8_0 or q4_0, got {}", quote(name));
  return type;
}

void quantize(const GgufType& type, std::span<const float> from, std::span<std::byte> to) {
  if (!can_quantize(type)) fail_usage("{}: cannot be written", type.name);
  if (type.name == "F32") {
    if (!from.empty()) std::memcpy(to.data(), from.data(), to.size());
    return;
  }
  std::byte* b = to.data();
  for (std::size_t i = 0; i < from.size(); i += type.elements, b += type.bytes) {
    if (type.name == "Q8_0") {
      to_q8_0(&from[i], b);
    } else if (type.name == "Q4_0") {
      to_q4_0(&from[i], b);
    } else {
      const std::uint16_t value = type.name == "F16" ? round_to_f16(from[i]) : to_bf16(from[i]);
      std::memcpy(b, &value, sizeof(value));
    }
  }
}

}  // namespace sten
