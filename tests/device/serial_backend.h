// SPDX-License-Identifier: Apache-2.0
// The serial backend: a stand-in for a device on the CPU, whose kernels are the CPU forms of the
// CUDA kernels.
#pragma once
#include <doctest/doctest.h>

#include <cstddef>

#include "libsten/core/base/memory_pool.h"
#include "tests/support/sanitized.h"

namespace sten::testing {

// Replaces the backend of kernels/cuda/backend.h until the end of the scope; one at a time. Calls
// are synchronous. Host code that accesses device memory outside of a call crashes. Allocated
// memory is filled with 0xcd; releasing memory with a write after its end throws std::logic_error.
class SerialDevice {
 public:
  static constexpr std::size_t most_memory = std::size_t{1} << 32;

  // memory: bytes of the device; allocations beyond it throw std::bad_alloc.
  explicit SerialDevice(std::size_t memory = most_memory);
  ~SerialDevice();
  SerialDevice(const SerialDevice&) = delete;
  SerialDevice& operator=(const SerialDevice&) = delete;

  // Objects that exist now, including those of earlier devices.
  struct Live {
    std::size_t blocks = 0, bytes = 0;  // allocated, as requested
    std::size_t pinned = 0, streams = 0, events = 0, products = 0;
    bool operator==(const Live&) const = default;
  };
  static Live live();
  // The maximum of allocated bytes since the device was made, and the number of copies of any kind.
  static std::size_t most_bytes();
  static std::size_t uploads();
  static std::size_t downloads();

  void limit(std::size_t memory);

  // Whether STEN_TEST_DEVICE=cuda selects the CUDA backend instead, without the checks of memory
  // above.
  static bool is_replaced();
};

// Enables the memory pool of devices (memory_pool.h) until the end of the scope.
struct PooledDeviceMemory {
  PooledDeviceMemory() { enable_device_memory_pool(); }
  ~PooledDeviceMemory() {
    enable_device_memory_pool(false);
    empty_device_memory_pool();
  }
  PooledDeviceMemory(const PooledDeviceMemory&) = delete;
  PooledDeviceMemory& operator=(const PooledDeviceMemory&) = delete;
};

// TEST_CASE("..." * cuda_only()) runs only with STEN_TEST_DEVICE=cuda; stand_in_only() only
// without.
inline doctest::skip cuda_only() { return doctest::skip(!SerialDevice::is_replaced()); }
inline doctest::skip stand_in_only() { return doctest::skip(SerialDevice::is_replaced()); }
// Skipped under a memory or race checker, for which other cases run the same code.
inline doctest::skip long_only() { return doctest::skip(is_short()); }

}  // namespace sten::testing
