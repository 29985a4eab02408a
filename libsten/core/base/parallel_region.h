// SPDX-License-Identifier: Apache-2.0
// Parallel loops on the threads of another library.
#pragma once

namespace sten {

// Runs body(data) on up to `threads` threads at once, including the caller, and returns after the last.
// GOMP_parallel() of OpenMP libraries has this form; its flags are 0.
using ParallelRegion = void (*)(void (*body)(void*), void* data, unsigned threads, unsigned flags);

// Loops run on the threads of another library; nullptr: on those of sten, the default. Threads of an
// OpenMP library spin after each of its regions, so two pools in turns would keep processors from
// each other.
void set_parallel_region(ParallelRegion region);

}  // namespace sten
