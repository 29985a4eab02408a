// SPDX-License-Identifier: Apache-2.0
// Values: elements of one dtype, copied bit for bit but not computed on.
#pragma once
#include <cstring>
#include <span>

#include "libsten/core/base/array.h"
#include "libsten/core/base/dtype.h"
#include "libsten/core/base/shape.h"

namespace sten {

class Values {
 public:
  Values() = default;
  // n zeros (all bits 0). Error for sub-byte dtypes.
  Values(DType dtype, Index n, Device device = Device::cpu);
  // n uninitialized elements.
  static Values uninitialized(DType dtype, Index n, Device device = Device::cpu);
  // Takes over bytes: aligned for the dtype's width, a whole number of elements.
  Values(DType dtype, Array<std::byte> bytes);

  DType dtype() const { return dtype_; }
  int width() const { return width_of(dtype_); }
  Index size() const { return static_cast<Index>(bytes_.size()) / width(); }
  const Array<std::byte>& bytes() const { return bytes_; }
  Device device() const { return bytes_.device(); }
  Values to(Device device) const { return {dtype_, bytes_.to(device)}; }

  // The elements as U: the dtype's own type (float for F32), or an unsigned integer or class of the
  // dtype's width for their bits. Error (usage) for every other U. Each call checks U, so call
  // outside loops.
  template <class U>
  std::span<const U> as() const {
    check_type<U>();
    return {reinterpret_cast<const U*>(bytes_.data()), bytes_.size() / sizeof(U)};
  }
  template <class U>
  std::span<U> mutate() {
    check_type<U>();
    const std::size_t n = bytes_.size() / sizeof(U);
    return {reinterpret_cast<U*>(bytes_.mutate()), n};
  }
  // Memory for writing, like Array::mutate().
  std::byte* mutate_bytes() { return bytes_.mutate(); }
  // Copies element j of `from`, which has the same dtype, to element i.
  void put(Index i, const Values& from, Index j) {
    assert(from.dtype_ == dtype_);
    const int w = width();
    std::memcpy(bytes_.mutate() + i * w, from.bytes_.data() + j * w, w);
  }

 private:
  template <class U>
  void check_type() const {
    if constexpr (std::signed_integral<U> || std::floating_point<U>) {
      if (dtype_ != dtype_for<U>()) fail_dtype(dtype_for<U>());
    } else {
      if (sizeof(U) != static_cast<std::size_t>(width())) fail_width(sizeof(U));
    }
  }
  [[noreturn]] void fail_width(std::size_t expected) const;
  [[noreturn]] void fail_dtype(DType expected) const;

  DType dtype_ = DType::F32;
  Array<std::byte> bytes_;
};

}  // namespace sten
