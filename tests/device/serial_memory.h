// SPDX-License-Identifier: Apache-2.0
// The device memory of a SerialDevice (serial_backend.h).
#pragma once
#include <cstddef>
#include <map>
#include <mutex>

#include "tests/device/serial_backend.h"

namespace sten::testing {

// An address range that is accessible only while an Open exists.
class SerialMemory {
 public:
  static SerialMemory& of_device();

  class Open {
   public:
    Open();
    ~Open();
    Open(const Open&) = delete;
    Open& operator=(const Open&) = delete;
  };

  // Returns 256-byte aligned memory; throws std::bad_alloc beyond the limit.
  void* allocate(std::size_t bytes);
  // Throws std::logic_error if `data` was not allocated here, or if there was a write after its
  // end.
  void release(void* data);
  std::size_t unused() const { return limit - live.bytes; }

  SerialDevice::Live live;
  std::size_t limit = SerialDevice::most_memory, most_bytes = 0, uploads = 0, downloads = 0;
  std::recursive_mutex lock;

 private:
  SerialMemory();
  void set_open(std::size_t at, std::size_t room, bool is_open);
  void shrink();

  std::byte* begin_;
  std::size_t end_ = 0;                           // all offsets after it are unused
  std::map<std::size_t, std::size_t> used_;       // requested bytes, by offset
  std::multimap<std::size_t, std::size_t> free_;  // offsets, by size
  int open_ = 0;
};

}  // namespace sten::testing
