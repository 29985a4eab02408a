// SPDX-License-Identifier: Apache-2.0
// Packed weights, which are cached and renewed when values change.
#pragma once
#include <atomic>
#include <bit>
#include <limits>
#include <memory>
#include <span>

#include "libsten/core/base/parallel.h"
#include "libsten/core/tensor/tensor.h"

namespace sten {

// The same positions with U32 values i + 1 for value i, which are never 0. Error (usage) for too
// many values.
inline Tensor numbered(const Tensor& a) {
  const Index count = a.values()->size();
  if (count >= std::numeric_limits<std::uint32_t>::max())
    fail_usage("product: {} values do not fit 32-bit indices", count);
  Values numbers = Values::uninitialized(DType::U32, count);
  const auto to = numbers.mutate<std::uint32_t>();
  for (Index i = 0; i < count; ++i) to[i] = static_cast<std::uint32_t>(i + 1);
  return a.with_values(std::move(numbers));
}

// The values that pack() copies: F32, or the bits of numbered().
inline std::span<const float> packable(const Values& values) {
  const auto bits = values.as<std::uint32_t>();
  return {reinterpret_cast<const float*>(bits.data()), bits.size()};
}

// pack(a), cached with the tensor. Packed has `Array<float> values`, each a value of `a` or 0. In
// training, values change and positions stay: the first tensor of some positions is packed
// directly; for the second one numbered() is packed, and this table serves all later ones.
template <class Packed, class F>
std::shared_ptr<const Packed> packed_of(const Tensor& a, F&& pack) {
  struct Once {
    std::shared_ptr<std::atomic<bool>> was = std::make_shared<std::atomic<bool>>(false);
  };
  struct Numbered {
    Packed packed;
  };
  return a.derived().get<Packed>([&]() -> Packed {
    const Derived& positions = a.of_positions();
    if (!positions.get<Once>([] { return Once{}; })->was->exchange(true)) return pack(a);
    const auto table = positions.get<Numbered>([&] { return Numbered{pack(numbered(a))}; });
    Packed out = table->packed;
    const std::size_t count = out.values.size();
    out.values = Array<float>::uninitialized(count);
    const float* numbers = table->packed.values.data();
    const float* from = a.values()->as<float>().data();
    float* to = out.values.mutate();
    parallel_for(static_cast<Index>(count), Index{1} << 14, [&](Index begin, Index end) {
      for (Index i = begin; i < end; ++i) {
        const auto number = std::bit_cast<std::uint32_t>(numbers[i]);
        to[i] = number ? from[number - 1] : 0;
      }
    });
    return out;
  });
}

}  // namespace sten
