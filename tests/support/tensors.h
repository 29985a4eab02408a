// SPDX-License-Identifier: Apache-2.0
// Random tensors and masks, and errors, for tests.
#pragma once
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libsten/core/base/error.h"
#include "libsten/core/base/parallel.h"
#include "libsten/core/base/random.h"
#include "libsten/core/tensor/dense.h"

namespace sten::testing {

// The text of the Error that f throws; "" if it throws none.
template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

// The text of the Error with this fault that f throws; "" if it throws none. Other Errors pass.
template <class F>
std::string error_of(Fault fault, F&& f) {
  try {
    f();
  } catch (const Error& e) {
    if (e.fault() != fault) throw;
    return e.what();
  }
  return "";
}

// error_of(f) without the name of the file at its start.
template <class F>
std::string error_in(std::string_view file, F&& f) {
  const std::string text = error_of(f), start = std::string(file) + ": ";
  return text.starts_with(start) ? text.substr(start.size()) : text;
}

// The Fault of the Error that f throws.
template <class F>
std::optional<Fault> fault_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.fault();
  }
  return std::nullopt;
}

inline bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Sets the number of threads until the end of the scope.
class Threads {
 public:
  explicit Threads(int n) : before_(threads()) { set_threads(n); }
  ~Threads() { set_threads(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
};

// Random values, the same in every run.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : seed_(seed) {}
  std::uint64_t bits() { return random_bits(seed_, next_++); }
  Index below(Index n) { return static_cast<Index>(bits() % static_cast<std::uint64_t>(n)); }
  double uniform() { return random_uniform(seed_, next_++); }
  // Standard normal (Box and Muller 1958).
  double normal() {
    const double r = std::sqrt(-2 * std::log(1 - uniform()));
    return r * std::cos(6.283185307179586 * uniform());
  }
  template <class T>
  const T& one_of(const std::vector<T>& v) {
    return v[below(static_cast<Index>(v.size()))];
  }

 private:
  std::uint64_t seed_, next_ = 0;
};

inline const std::vector<DType>& prunable_dtypes() {
  static const std::vector<DType> all{DType::F64,  DType::F32,     DType::F16,
                                      DType::BF16, DType::F8_E4M3, DType::F8_E5M2};
  return all;
}

// All dtypes with a whole number of bytes per element.
inline const std::vector<DType>& movable_dtypes() {
  static const std::vector<DType> all = [] {
    std::vector<DType> v;
    for (int t = 0; t <= static_cast<int>(DType::U64); ++t)
      if (width_of(static_cast<DType>(t))) v.push_back(static_cast<DType>(t));
    return v;
  }();
  return all;
}

inline Dense f32(Shape extents, const std::vector<float>& v) {
  Dense x = Dense::zeros(DType::F32, std::move(extents));
  std::copy(v.begin(), v.end(), x.values.mutate<float>().begin());
  return x;
}

inline std::vector<float> floats(const Dense& x) {
  const auto v = x.values.as<float>();
  return {v.begin(), v.end()};
}

// F32, standard normal values.
inline Dense normals(Dice& dice, Shape extents) {
  Dense x = Dense::zeros(DType::F32, std::move(extents));
  for (float& v : x.values.mutate<float>()) v = static_cast<float>(dice.normal());
  return x;
}

// Random bit patterns; every third element is zero, -0.0, NaN, infinite or denormal.
inline Dense any_bits(Dice& dice, DType dtype, Shape extents) {
  Dense x = Dense::zeros(dtype, std::move(extents));
  with_width(x.values.width(), [&]<class U>(U) {
    constexpr U sign = static_cast<U>(U{1} << (8 * sizeof(U) - 1)), ones = static_cast<U>(~U{0});
    const U infinity = static_cast<U>(dtype == DType::F64    ? 0x7ff0000000000000u
                                      : dtype == DType::F32  ? 0x7f800000u
                                      : dtype == DType::BF16 ? 0x7f80u
                                      : dtype == DType::F16  ? 0x7c00u
                                                             : 0x7cu);
    const std::vector<U> special{0, 0, 1, sign, ones, infinity, static_cast<U>(sign | 1)};
    for (U& v : x.values.mutate<U>())
      v = dice.below(3) ? static_cast<U>(dice.bits()) : dice.one_of(special);
  });
  return x;
}

// One 0 or 1 per element.
inline Mask mask_of(Shape extents, const std::vector<int>& keep) {
  Mask m = Mask::none(std::move(extents));
  for (std::size_t i = 0; i < keep.size(); ++i) m.set(static_cast<Index>(i), keep[i] != 0);
  return m;
}

inline std::vector<int> ones_of(const Mask& m) {
  std::vector<int> keep(m.size());
  for (Index i = 0; i < m.size(); ++i) keep[i] = m[i];
  return keep;
}

inline Mask random_mask(Dice& dice, Shape extents, double keep) {
  Mask m = Mask::none(std::move(extents));
  for (Index i = 0; i < m.size(); ++i)
    if (dice.uniform() < keep) m.set(i, true);
  return m;
}

inline bool same_mask(const Mask& a, const Mask& b) {
  return a.extents == b.extents &&
         std::equal(a.bits.begin(), a.bits.end(), b.bits.begin(), b.bits.end());
}

// Whether the bits are equal: NaN equals itself, 0.0 differs from -0.0.
inline bool same_bits(const Dense& a, const Dense& b) {
  return a.extents == b.extents && a.dtype() == b.dtype() &&
         std::equal(a.values.bytes().begin(), a.values.bytes().end(), b.values.bytes().begin(),
                    b.values.bytes().end());
}

// x with pruned elements set to 0, as a plain loop.
inline Dense masked_by(const Dense& x, const Mask& m) {
  const Dense zero = Dense::zeros(x.dtype(), {1});
  Dense out = x;
  for (Index i = 0; i < x.size(); ++i)
    if (!m[i]) out.values.put(i, zero.values, 0);
  return out;
}

}  // namespace sten::testing
