// SPDX-License-Identifier: Apache-2.0
// Allocation of CPU memory for arrays.
#pragma once
#include <cstddef>
#include <memory>

namespace sten {

// Allocates `bytes` > 0, uninitialized, aligned to a cache line, which is also the width of the
// widest vector. Large blocks use huge pages if available and come from the memory pool, since page
// faults cost more than filling the memory.
std::shared_ptr<void> allocate(std::size_t bytes);

// Arrays that live long and are freed together.
enum class Arena { packed_weights, key_value_caches };

// allocate() for such arrays. Those smaller than a huge page are placed side by side in blocks of
// huge pages; a block is freed with its last array.
std::shared_ptr<void> allocate_in_arena(std::size_t bytes, Arena arena);

}  // namespace sten
