// Shared contiguous values: copies are O(1), writing detaches. On the CPU; may borrow memory that
// something else keeps alive, such as a mapped file.
#pragma once
#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <new>
#include <span>
#include <type_traits>

#include "libsten/base/memory.h"

namespace sten {

template <class T>
class Array {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Array() = default;
  // n zeros.
  explicit Array(std::size_t n) : Array(uninitialized(n)) {
    if (n) std::memset(static_cast<void*>(writable()), 0, n * sizeof(T));
  }
  Array(std::initializer_list<T> v) : Array(uninitialized(v.size())) {
    std::copy(v.begin(), v.end(), writable());
  }
  // n values that the caller writes before anything reads them.
  static Array uninitialized(std::size_t n) {
    if (n > PTRDIFF_MAX / sizeof(T)) throw std::bad_array_new_length();
    Array a;
    a.size_ = n;
    if (n) a.data_ = std::static_pointer_cast<const T>(allocate(n * sizeof(T)));
    return a;
  }
  // n values at `data`, which `owner` keeps alive and nobody changes. Aligned for T.
  static Array borrow(std::shared_ptr<const void> owner, const T* data, std::size_t n) {
    Array a;
    a.data_ = std::shared_ptr<const T>(std::move(owner), data);
    a.size_ = n;
    a.borrowed_ = true;
    return a;
  }

  std::size_t size() const { return size_; }
  const T* data() const { return data_.get(); }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  const T& operator[](std::size_t i) const {
    assert(i < size_);
    return data_.get()[i];
  }
  operator std::span<const T>() const { return {data(), size_}; }

  // For writing: a copy of its own is taken first if the values are shared or borrowed.
  T* mutate() {
    if (data_ && (borrowed_ || data_.use_count() > 1)) {
      Array own = uninitialized(size_);
      std::copy_n(data(), size_, own.writable());
      *this = std::move(own);
    }
    return writable();
  }

  // The same memory as bytes; no copy.
  Array<std::byte> bytes() const {
    return Array<std::byte>::borrow(data_, reinterpret_cast<const std::byte*>(data()),
                                    size_ * sizeof(T));
  }

 private:
  T* writable() const { return const_cast<T*>(data_.get()); }

  std::shared_ptr<const T> data_;
  std::size_t size_ = 0;
  bool borrowed_ = false;
};

}  // namespace sten
