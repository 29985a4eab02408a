// A device in the host's memory, whose kernels are the CPU forms of those of CUDA: what tests use
// instead of one.
#pragma once
#include <doctest/doctest.h>

#include <cstddef>

#include "libsten/base/memory_pool.h"
#include "tests/support/sanitized.h"

namespace sten::testing {

// The backend of kernels/cuda/backend.h until the end of the scope; one at a time. All it does is
// done when a call returns. Its memory is closed but during such calls: host code that reads or
// writes it crashes. What is allocated is filled with 0xcd, and a write beyond it is found when it
// is released: std::logic_error.
class SerialDevice {
 public:
  static constexpr std::size_t most_memory = std::size_t{1} << 32;

  // With as many bytes: std::bad_alloc beyond.
  explicit SerialDevice(std::size_t memory = most_memory);
  ~SerialDevice();
  SerialDevice(const SerialDevice&) = delete;
  SerialDevice& operator=(const SerialDevice&) = delete;

  // What there is now, of earlier devices too.
  struct Live {
    std::size_t blocks = 0, bytes = 0;  // allocated, as they were asked for
    std::size_t pinned = 0, streams = 0, events = 0, products = 0;
    bool operator==(const Live&) const = default;
  };
  static Live live();
  // The most bytes at a time since the device was made, and copies of any kind.
  static std::size_t most_bytes();
  static std::size_t uploads();
  static std::size_t downloads();

  void limit(std::size_t memory);

  // Where the environment says STEN_TEST_DEVICE=cuda, the backend is that of CUDA instead, and what
  // is said above of memory does not hold.
  static bool is_replaced();
};

// What a device frees is kept until the end of the scope (memory_pool.h).
struct PooledDeviceMemory {
  PooledDeviceMemory() { enable_device_memory_pool(); }
  ~PooledDeviceMemory() {
    enable_device_memory_pool(false);
    empty_device_memory_pool();
  }
  PooledDeviceMemory(const PooledDeviceMemory&) = delete;
  PooledDeviceMemory& operator=(const PooledDeviceMemory&) = delete;
};

// TEST_CASE("..." * cuda_only()): skipped but for STEN_TEST_DEVICE=cuda; the other one, with it.
inline doctest::skip cuda_only() { return doctest::skip(!SerialDevice::is_replaced()); }
inline doctest::skip stand_in_only() { return doctest::skip(SerialDevice::is_replaced()); }
// For a checker there is nothing that the runs of other cases do not show.
inline doctest::skip long_only() { return doctest::skip(is_short()); }

}  // namespace sten::testing
