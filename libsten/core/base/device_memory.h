// SPDX-License-Identifier: Apache-2.0
// Memory of a device and explicit copies from and to it.
#pragma once
#include <cstddef>
#include <memory>

#include "libsten/core/base/device.h"

namespace sten {

// Allocates `bytes` > 0, uninitialized. On the CPU like allocate() (memory.h); on a device aligned
// to 256 bytes and rounded up to a multiple of 256. Error if memory is short.
std::shared_ptr<void> allocate_on(Device device, std::size_t bytes);

// Copies `bytes` within or between devices. A copy to the CPU is complete on return. A copy to a
// device is queued on its stream; its CPU memory, read through pinned memory, may change on return.
void copy_bytes(void* to, Device to_device, const void* from, Device from_device,
                std::size_t bytes);
// Fills memory with zero bytes.
void clear_bytes(void* to, Device device, std::size_t bytes);

}  // namespace sten
