// SPDX-License-Identifier: Apache-2.0
// Array: shared contiguous elements on the CPU or on a device. Copying is O(1), and writing
// detaches. On the CPU an array may borrow memory that another owner keeps alive, such as a mapped
// file.
#pragma once
#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <new>
#include <span>
#include <type_traits>

#include "libsten/core/base/device_memory.h"
#include "libsten/core/base/memory.h"

namespace sten {

template <class T>
class Array {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Array() = default;
  // n zeros.
  explicit Array(std::size_t n, Device device = Device::cpu) : Array(uninitialized(n, device)) {
    if (n) clear_bytes(writable(), device, n * sizeof(T));
  }
  Array(std::initializer_list<T> v) : Array(uninitialized(v.size())) {
    std::copy(v.begin(), v.end(), writable());
  }
  // n uninitialized elements.
  static Array uninitialized(std::size_t n, Device device = Device::cpu) {
    Array a = in_memory(n, [=](std::size_t bytes) { return allocate_on(device, bytes); });
    a.device_ = device;
    return a;
  }
  // The same in an arena (allocate_in_arena()).
  static Array uninitialized_in_arena(std::size_t n, Arena arena = Arena::packed_weights) {
    return in_memory(n, [=](std::size_t bytes) { return allocate_in_arena(bytes, arena); });
  }
  // Borrows n elements at `data`, aligned for T. `owner` keeps them alive, and nobody changes them.
  static Array borrow(std::shared_ptr<const void> owner, const T* data, std::size_t n,
                      Device device = Device::cpu) {
    Array a;
    a.device_ = device;
    a.data_ = std::shared_ptr<const T>(std::move(owner), data);
    a.size_ = n;
    a.borrowed_ = true;
    return a;
  }

  // n elements from `first` on, which share this array's memory.
  Array part(std::size_t first, std::size_t n) const {
    assert(first <= size_ && n <= size_ - first);
    return borrow(data_, data() + first, n, device_);
  }

  std::size_t size() const { return size_; }
  Device device() const { return device_; }
  // The array on `device`: shares memory if the array is on `device` already, else copies.
  Array to(Device device) const {
    if (device == device_) return *this;
    Array moved = uninitialized(size_, device);
    copy_bytes(moved.writable(), device, data(), device_, size_ * sizeof(T));
    return moved;
  }
  // A pointer to memory of device().
  const T* data() const { return data_.get(); }
  // begin(), end(), [] and the span are for arrays on the CPU.
  const T* begin() const {
    assert(device_ == Device::cpu);
    return data();
  }
  const T* end() const { return begin() + size_; }
  const T& operator[](std::size_t i) const {
    assert(i < size_ && device_ == Device::cpu);
    return data_.get()[i];
  }
  operator std::span<const T>() const { return {begin(), size_}; }

  // Whether the memory is borrowed or belongs to several arrays.
  bool is_shared() const { return data_ && (borrowed_ || data_.use_count() > 1); }
  // Memory for writing: copies first if is_shared(). On a device, a pointer to device memory.
  T* mutate() {
    if (is_shared()) {
      Array own = uninitialized(size_, device_);
      copy_bytes(own.writable(), device_, data(), device_, size_ * sizeof(T));
      *this = std::move(own);
    }
    return writable();
  }

  // The same memory as bytes, without a copy.
  Array<std::byte> bytes() const {
    return Array<std::byte>::borrow(data_, reinterpret_cast<const std::byte*>(data()),
                                    size_ * sizeof(T), device_);
  }

 private:
  template <class Allocate>
  static Array in_memory(std::size_t n, Allocate&& allocate) {
    if (n > PTRDIFF_MAX / sizeof(T)) throw std::bad_array_new_length();
    Array a;
    a.size_ = n;
    if (n) a.data_ = std::static_pointer_cast<const T>(allocate(n * sizeof(T)));
    return a;
  }
  T* writable() const { return const_cast<T*>(data_.get()); }

  std::shared_ptr<const T> data_;
  std::size_t size_ = 0;
  Device device_ = Device::cpu;
  bool borrowed_ = false;
};

}  // namespace sten
