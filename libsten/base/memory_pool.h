// Large blocks of memory that were freed and are kept for the next tensors, see memory.h.
#pragma once

namespace sten {

// For programs that run models; the library itself never calls it. From now on sten keeps more: the
// blocks kept and those in use together reach at most 1.5 times what was once in use, so that work
// which repeats itself finds a block for each of its sizes. It also sets malloc (mallopt): the heap
// keeps 64 MB, and blocks of 2 MB or more are mappings of their own.
void enlarge_memory_pool();

// Gives them back to the system.
void empty_memory_pool();

// The same of a device's memory: from now on blocks that are freed there are given out again without
// asking CUDA, which is two calls less. Those kept and those in use together reach at most 1.5 times what
// was once in use, or 64 MB beside what is. What CUDA has no room for is asked for again without those
// kept.
void enable_device_memory_pool(bool enable = true);
void empty_device_memory_pool();

}  // namespace sten
