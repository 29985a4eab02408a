// Dense products of row-major matrices: the formula, and a loop for when no library is there.
#pragma once
#include <cstdint>

namespace sten::kernels {

// C[m,n] = A[m,k] * B, where B is [k,n], or [n,k] and transposed.
template <class T>
void gemm_reference(bool transposed, std::int64_t m, std::int64_t n, std::int64_t k, const T* a,
                    const T* b, T* c);

// The same in tiles of B that stay in the first cache, each copied to a stride of its own.
template <class T>
void gemm_blocked(bool transposed, std::int64_t m, std::int64_t n, std::int64_t k, const T* a,
                  const T* b, T* c);

}  // namespace sten::kernels
