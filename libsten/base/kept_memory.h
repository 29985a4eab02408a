// Large blocks of memory that were freed and are kept for the next tensors, see memory.h.
#pragma once

namespace sten {

// For programs that run models; the library itself never calls it. From now on sten keeps more: the
// blocks kept and those in use together reach at most 1.5 times what was once in use, so that work
// which repeats itself finds a block for each of its sizes. It also sets malloc (mallopt): the heap
// keeps 64 MB, and blocks of 2 MB or more are mappings of their own.
void keep_more_memory();

// Gives them back to the system.
void release_kept_memory();

}  // namespace sten
