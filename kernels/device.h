// Functions that CUDA compiles for its devices, too.
#pragma once

#if defined(__CUDACC__)
#define STEN_DEVICE __device__
#define STEN_HOST_DEVICE __host__ __device__
#else
#define STEN_DEVICE
#define STEN_HOST_DEVICE
#endif
