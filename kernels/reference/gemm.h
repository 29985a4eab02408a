// SPDX-License-Identifier: Apache-2.0
// Dense products of row-major matrices: the reference, and the built-in loop of linalg without a
// dense library.
#pragma once
#include <cstdint>

namespace sten::kernels {

// C = A * B with A [m, k], C [m, n] and B [k, n], or [n, k] if `transposed`.
template <class T>
void gemm_reference(bool transposed, std::int64_t m, std::int64_t n, std::int64_t k, const T* a,
                    const T* b, T* c);

// The same, with tiles of B copied to contiguous memory so that they stay in L1.
template <class T>
void gemm_blocked(bool transposed, std::int64_t m, std::int64_t n, std::int64_t k, const T* a,
                  const T* b, T* c);

}  // namespace sten::kernels
