#include "kernels/cuda/nmg_fit.cuh"

#include "kernels/cuda/check.cuh"
#include "kernels/cuda/cuda_block.cuh"

namespace sten::kernels::cuda {
namespace {

template <class E, int size>
__global__ void __launch_bounds__(size)
    fit(NmgFormat format, NmgMatrix<E> in, std::uint16_t* pattern_of) {
  extern __shared__ __align__(16) std::byte memory[];
  CudaBlock<size> b(memory);
  nmg_exact_unit<E>(b, format, in, blockIdx.x, pattern_of);
}

template <class E, int size>
bool fit_all(const NmgFormat& format, const NmgMatrix<E>& in, std::uint16_t* pattern_of) {
  const std::size_t shared = nmg_exact_shared(format, size);
  int device = 0, most = 0;
  check(cudaGetDevice(&device), "the current device");
  check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
        "its shared memory");
  if (shared > static_cast<std::size_t>(most)) return false;
  const auto units = in.units(format);
  if (units == 0) return true;
  check(cudaFuncSetAttribute(fit<E, size>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(shared)),
        "shared memory of a fit");
  fit<E, size><<<static_cast<unsigned>(units), size, shared>>>(format, in, pattern_of);
  check(cudaGetLastError(), "a fit");
  return true;
}

}  // namespace

template <class E>
bool nmg_fit(const NmgFormat& format, const NmgMatrix<E>& in, std::uint16_t* pattern_of) {
  // Of few patterns a warp, whose phases end without a barrier.
  return format.strips() <= 64 ? fit_all<E, 32>(format, in, pattern_of)
                               : fit_all<E, 128>(format, in, pattern_of);
}

template bool nmg_fit(const NmgFormat&, const NmgMatrix<float>&, std::uint16_t*);
template bool nmg_fit(const NmgFormat&, const NmgMatrix<double>&, std::uint16_t*);

}  // namespace sten::kernels::cuda
