// SPDX-License-Identifier: Apache-2.0
#include "kernels/block/product/nmg_products.h"
#include "kernels/cuda/cuda_grid.cuh"
#include "kernels/cuda/functions.cuh"
#include "kernels/cuda/libraries.h"

namespace sten::kernels::cuda {
// The compiler would put the folder of the build into the name of an unnamed namespace.
inline namespace products_file {

template <class From, class To>
struct Convert {
  const From* from;
  To* to;
  STEN_DEVICE void operator()(std::int64_t i) const { to[i] = static_cast<To>(from[i]); }
};

}  // namespace products_file

void convert(const std::int64_t* from, std::int64_t n, std::int32_t* to, Stream stream) {
  launch_threads<256>(CudaGrid(stream), n, Convert<std::int64_t, std::int32_t>{from, to});
}
void convert(const std::int32_t* from, std::int64_t n, std::int64_t* to, Stream stream) {
  launch_threads<256>(CudaGrid(stream), n, Convert<std::int32_t, std::int64_t>{from, to});
}

ProductFunctions make_products() {
  return {cublas_name, ProductsOn<CudaGrid>::nmg, ProductsOn<CudaGrid>::nmg_transposed,
          cusparse_name, cusparse_csr};
}

}  // namespace sten::kernels::cuda
