// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/gguf/decoding.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "libsten/core/base/error.h"
#include "libsten/core/base/floats.h"
#include "libsten/core/base/parallel.h"
#include "libsten/files/gguf/blocks.h"

namespace sten {
namespace {

struct Rows {
  Index count, elements;  // of a row
};

Rows rows_of(const Shape& shape, GgufChange change) {
  // A bias of changed rows has one element per row.
  const bool is_column = shape.size() == 1 && gguf_row_unit(change) > 1;
  const Index size = size_of(shape), elements = shape.empty() || is_column ? 1 : shape.back();
  return {elements == 0 ? 0 : size / elements, elements};
}

// Rows that take about 64 kB as floats.
Index grain(Index elements) { return std::max<Index>(1, 16384 / std::max<Index>(1, elements)); }

std::size_t bytes_of_row(const GgufType& type, Index elements) {
  return static_cast<std::size_t>(elements) / type.elements * type.bytes;
}

// Calls f(row, its row in the GGUF tensor) for all rows.
template <class F>
void for_rows(const Rows& rows, const GgufStorage& s, F&& f) {
  parallel_for(rows.count, grain(rows.elements), [&](Index begin, Index end) {
    for (Index r = begin; r < end; ++r) f(r, gguf_row(s.change, r, rows.count, s.heads));
  });
}

// Reads a row of a floating-point type as float32.
void widen(const GgufType& type, const std::byte* from, std::span<float> to) {
  if (type.is_quantized()) return dequantize(type, {from, bytes_of_row(type, to.size())}, to);
  with_float(*type.dtype, [&](auto kind) {
    using Kind = decltype(kind);
    for (std::size_t i = 0; i < to.size(); ++i) {
      typename Kind::Bits bits;
      std::memcpy(&bits, from + i * sizeof(bits), sizeof(bits));
      to[i] = static_cast<float>(Kind::decode(bits));
    }
  });
}

// Error if a finite element became infinite in a floating-point type.
void check_range(std::span<const float> from, const GgufType& type, std::span<const std::byte> to,
                 Index row) {
  with_float(*type.dtype, [&](auto kind) {
    using Kind = decltype(kind);
    for (std::size_t i = 0; i < from.size(); ++i) {
      typename Kind::Bits bits;
      std::memcpy(&bits, to.data() + i * sizeof(bits), sizeof(bits));
      if (std::isfinite(from[i]) && !std::isfinite(static_cast<float>(Kind::decode(bits))))
        fail("row {} has the value {}, which is beyond the range of {}", row, from[i], type.name);
    }
  });
}

// Error if the scale of a block is infinite: F16, the first bytes of Q8_0 and Q4_0.
void check_scales(std::span<const float> from, const GgufType& type, std::span<const std::byte> to,
                  Index row) {
  using Half = FloatBits<FloatKind::f16>;
  for (std::size_t block = 0; block < to.size() / type.bytes; ++block) {
    Half::Bits bits;
    std::memcpy(&bits, to.data() + block * type.bytes, sizeof(bits));
    if (std::isfinite(static_cast<float>(Half::decode(bits)))) continue;
    const auto values = from.subspan(block * type.elements, type.elements);
    const float most = *std::ranges::max_element(values, {}, [](float x) { return std::fabs(x); });
    fail("row {} has the value {}, which is beyond the range of {}", row, most, type.name);
  }
}

// Rounds a row of floats to a type.
void narrow(std::span<const float> from, const GgufType& type, std::span<std::byte> to, Index row) {
  quantize(type, from, to);
  if (type.is_quantized())
    check_scales(from, type, to, row);
  else if (*type.dtype != DType::F32)
    check_range(from, type, to, row);
}

}  // namespace

void check_gguf_change(const GgufStorage& s, const Shape& shape) {
  if (s.change == GgufChange::none) return;
  if (!is_prunable(*s.type->dtype)) fail("{}: expected floating-point elements", s.type->name);
  const Index unit = gguf_row_unit(s.change);
  if (unit == 1) return;
  const Index rows = shape.empty() ? 1 : shape.front();
  if (shape.empty() || shape.size() > 2 || s.heads <= 0 || rows % unit != 0 ||
      rows / unit % s.heads != 0)
    fail("shape {}: expected {} attention heads of a multiple of {} rows", to_string(shape),
         s.heads, unit);
  if (shape.size() == 1 && s.type->is_quantized())
    fail("shape {}: expected a bias that is not quantized, got {}", to_string(shape), s.type->name);
}

Values decode_gguf(std::span<const std::byte> bytes, const Shape& shape, const GgufStorage& s) {
  const Rows rows = rows_of(shape, s.change);
  Values out = Values::uninitialized(s.dtype(), size_of(shape));
  std::byte* to = out.mutate_bytes();
  const std::size_t stored = bytes_of_row(*s.type, rows.elements);
  const auto elements = static_cast<std::size_t>(rows.elements);
  const bool is_copy =
      !s.type->is_quantized() && s.change != GgufChange::add_one && s.dtype() == *s.type->dtype;
  const GgufType& as = *gguf_type_of(s.dtype());
  const std::size_t decoded = elements * as.bytes;
  for_rows(rows, s, [&](Index r, Index from_row) {
    const std::byte* from = bytes.data() + static_cast<std::size_t>(from_row) * stored;
    std::byte* row = to + static_cast<std::size_t>(r) * decoded;
    if (is_copy) {
      std::memcpy(row, from, stored);
      return;
    }
    std::vector<float> wide(s.dtype() == DType::F32 ? 0 : elements);
    const std::span<float> floats =
        wide.empty() ? std::span(reinterpret_cast<float*>(row), elements) : std::span(wide);
    widen(*s.type, from, floats);
    if (s.change == GgufChange::add_one)
      for (float& x : floats) x -= 1;
    if (!wide.empty()) narrow(wide, as, {row, decoded}, r);
  });
  return out;
}

Array<std::byte> encode_gguf(const Values& values, const Shape& shape, const GgufStorage& s) {
  const GgufType* from = gguf_type_of(values.dtype());
  if (!from || !is_prunable(values.dtype()) || !can_quantize(*s.type))
    fail("{} cannot be written as {}", name_of(values.dtype()), s.type->name);
  const Rows rows = rows_of(shape, s.change);
  const std::size_t width = bytes_of_row(*from, rows.elements),
                    stored = bytes_of_row(*s.type, rows.elements);
  auto out = Array<std::byte>::uninitialized(stored * static_cast<std::size_t>(rows.count));
  std::byte* to = out.mutate();
  const bool is_copy = from == s.type && s.change != GgufChange::add_one;
  for_rows(rows, s, [&](Index r, Index to_row) {
    const std::byte* row = values.bytes().data() + static_cast<std::size_t>(r) * width;
    std::byte* target = to + static_cast<std::size_t>(to_row) * stored;
    if (is_copy) {
      std::memcpy(target, row, stored);
      return;
    }
    std::vector<float> floats(static_cast<std::size_t>(rows.elements));
    widen(*from, row, floats);
    for (float& x : floats) {
      if (s.change == GgufChange::add_one) x += 1;
      if (s.type->is_quantized() && !std::isfinite(x))
        fail("row {} has a value that is not finite, as {} cannot store", r, s.type->name);
    }
    narrow(floats, *s.type, {target, stored}, r);
  });
  return out;
}

}  // namespace sten
