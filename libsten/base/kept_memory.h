// Large blocks of memory that were freed and are kept for the next tensors, see memory.h.
#pragma once

namespace sten {

// For programs that run models; nothing in the library calls it. From now on more is kept: with
// what is in use at most 1.5 times what was once in use, so that work which repeats itself finds a
// block for each of its sizes. The C library's heap keeps 64 MB too, and has no blocks of 2 MB or
// more (mallopt).
void keep_more_memory();

// Gives them back to the system.
void release_kept_memory();

}  // namespace sten
