// SPDX-License-Identifier: Apache-2.0
// Remainders and shifts of integers.
#include <cmath>

#include "libsten/compute/ops/common/broadcast.h"
#include "libsten/compute/ops/common/check.h"
#include "libsten/compute/ops/common/elements.h"
#include "libsten/compute/ops/common/register.h"

namespace sten {
namespace {

// Applies f(a, b) to elements stored as T.
template <class T, class F>
Dense each_of(const Shape& shape, const Dense& a, const Dense& b, DType dtype, F f) {
  const Broadcast repeated(shape, a.extents, b.extents);
  const T *x = a.values.as<T>().data(), *y = b.values.as<T>().data();
  return dense_elements<T>(dtype, shape, [&](Index begin, Index end, T* to) {
    repeated.each_pair(begin, end, x, y, [=](Index i, T u, T v) { to[i - begin] = f(u, v); });
  });
}

// The sign is that of a for fmod, else that of b.
std::int64_t remainder(std::int64_t a, std::int64_t b, bool is_fmod) {
  if (b == 0) fail_usage("mod: integer division by 0");
  const std::int64_t r = b == -1 ? 0 : a % b;
  return !is_fmod && r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
template <std::floating_point T>
T remainder(T a, T b, bool is_fmod) {
  const T r = std::fmod(a, b);
  return !is_fmod && r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

Outputs mod(const Call& call) {
  call.attributes.check("mod", {"fmod"});
  const Dense &a = call.in[0].as<Dense>(), &b = call.in[1].as<Dense>();
  check_dtypes("mod", "a", a.dtype(), "b", b.dtype());
  const bool is_fmod = call.attributes.integer("fmod", 0) != 0;
  const Shape shape = broadcast_shape("mod", a.extents, b.extents);
  const DType in = computed_in("mod", a.dtype());
  const Dense x = to_compute("mod", a, in), y = to_compute("mod", b, in);
  return with_computed(in, [&]<class T>(T) -> Outputs {
    const Dense all =
        each_of<T>(shape, x, y, in, [=](T u, T v) { return remainder(u, v, is_fmod); });
    return {Dense{shape, as_dtype("mod", all.values, a.dtype())}};
  });
}

// Shifts in zeros, and drops bits shifted out.
Outputs bit_shift(const Call& call) {
  call.attributes.check("bit-shift", {"direction"});
  const Dense &a = call.in[0].as<Dense>(), &b = call.in[1].as<Dense>();
  check_dtypes("bit-shift", "a", a.dtype(), "b", b.dtype());
  const DType t = a.dtype();
  if (t != DType::U8 && t != DType::U16 && t != DType::U32 && t != DType::U64)
    fail_usage("bit-shift: elements must be U8, U16, U32 or U64, got {}", name_of(t));
  const std::string direction = call.attributes.word("direction", "");
  if (direction != "left" && direction != "right")
    fail_usage("bit-shift: unknown direction '{}' (expected left or right)", direction);
  const bool is_left = direction == "left";
  const Shape shape = broadcast_shape("bit-shift", a.extents, b.extents);
  return with_width(width_of(t), [&]<class U>(U) -> Outputs {
    return {each_of<U>(shape, a, b, t, [=](U x, U by) {
      if (by >= 8 * sizeof(U)) return U{0};
      return static_cast<U>(is_left ? std::uint64_t{x} << by : std::uint64_t{x} >> by);
    })};
  });
}

}  // namespace

void add_integer_binary(Operators& all) {
  all.add({"mod", {"dense", "dense"}, {{}}}, mod);
  all.add({"bit-shift", {"dense", "dense"}, {{}}}, bit_shift);
}

}  // namespace sten
