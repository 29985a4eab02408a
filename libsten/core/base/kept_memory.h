// SPDX-License-Identifier: Apache-2.0
// Deprecated names of libsten/core/base/memory_pool.h.
#pragma once
#include "libsten/core/base/memory_pool.h"

namespace sten {

[[deprecated("enlarge_memory_pool")]] inline void keep_more_memory() { enlarge_memory_pool(); }
[[deprecated("empty_memory_pool")]] inline void release_kept_memory() { empty_memory_pool(); }
[[deprecated("enable_device_memory_pool")]] inline void keep_device_memory(bool keeps = true) {
  enable_device_memory_pool(keeps);
}
[[deprecated("empty_device_memory_pool")]] inline void release_kept_device_memory() {
  empty_device_memory_pool();
}

}  // namespace sten
