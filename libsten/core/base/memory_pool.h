// SPDX-License-Identifier: Apache-2.0
// The memory pool: large freed blocks that are cached for reuse (memory.h).
#pragma once

namespace sten {

// Enlarges the pool, for programs that run models; the library never calls this function. Cached
// and used blocks together may reach 1.5 times the highest use so far, so that repeated work finds
// a block for each size. Also sets malloc (mallopt): the heap keeps 64 MB; and map_large_blocks().
void enlarge_memory_pool();

// Blocks of malloc of 2 MB or more become mappings, which go back to the system when freed. On the
// heap they would leave gaps: a third more memory for a BERT, half for a calibration. For programs;
// the library never calls this function.
void map_large_blocks();

// Returns cached blocks, and free pages of malloc's heap, to the system.
void empty_memory_pool();

// The pool of device memory: freed blocks are reused without the two calls of CUDA, up to the same
// limit, or 64 MB. If CUDA runs out of memory, the pool is emptied first.
void enable_device_memory_pool(bool enable = true);
void empty_device_memory_pool();

}  // namespace sten
