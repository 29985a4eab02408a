// Memory on a device, and the ways there and back. Nothing here copies unless asked to.
#pragma once
#include <cstddef>
#include <memory>

#include "libsten/base/device.h"

namespace sten {

// `bytes` > 0, uninitialised; on the CPU as allocate() (memory.h). On a device aligned to 256 bytes
// with no end within the last of these. Error where it has no room.
std::shared_ptr<void> allocate_on(Device device, std::size_t bytes);

// From one device to another one, or on one. A copy to the CPU is done on return. One to a device
// is done when its stream comes to it, and what it copies from the CPU, through pinned memory, may
// change on return.
void copy_bytes(void* to, Device to_device, const void* from, Device from_device,
                std::size_t bytes);
// Zeros.
void clear_bytes(void* to, Device device, std::size_t bytes);

}  // namespace sten
