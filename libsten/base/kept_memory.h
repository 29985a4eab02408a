// Large blocks of memory that were freed and are kept for the next tensors, see memory.h.
#pragma once

namespace sten {

// From now on more is kept: with what is in use at most 1.5 times what was once in use, so that
// work which repeats itself, as models do, finds a block for each of its sizes.
void keep_more_memory();

// Gives them back to the system.
void release_kept_memory();

}  // namespace sten
