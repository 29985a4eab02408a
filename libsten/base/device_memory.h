// Memory of a device and explicit copies from and to it.
#pragma once
#include <cstddef>
#include <memory>

#include "libsten/base/device.h"

namespace sten {

// Allocates `bytes` > 0, uninitialized. On the CPU like allocate() (memory.h); on a device aligned
// to 256 bytes, with a size rounded up to a multiple of 256. Error if the device has too little
// memory.
std::shared_ptr<void> allocate_on(Device device, std::size_t bytes);

// Copies `bytes` within a device or between devices. A copy to the CPU is complete on return. A
// copy to a device is queued on its stream; CPU memory it reads passes through pinned memory and
// may change after the return.
void copy_bytes(void* to, Device to_device, const void* from, Device from_device,
                std::size_t bytes);
// Fills memory with zero bytes.
void clear_bytes(void* to, Device device, std::size_t bytes);

}  // namespace sten
