#include "kernels/block/product/nmg_products.h"
#include "kernels/cuda/cuda_grid.cuh"
#include "kernels/cuda/functions.cuh"
#include "kernels/cuda/libraries.h"

namespace sten::kernels::cuda {
namespace {

template <class From, class To>
struct ConvertKernel {
  static constexpr int threads = 256;
  const From* from;
  std::int64_t n;
  To* to;

  std::int64_t blocks() const { return (n + threads - 1) / threads; }
  std::size_t shared_bytes() const { return 0; }
  template <class Block>
  STEN_DEVICE void operator()(Block& b, std::int64_t block) const {
    b.for_each_thread([&](int t) {
      const std::int64_t i = block * threads + t;
      if (i < n) to[i] = static_cast<To>(from[i]);
    });
  }
};

}  // namespace

void convert(const std::int64_t* from, std::int64_t n, std::int32_t* to, Stream stream) {
  CudaGrid(stream).launch(ConvertKernel<std::int64_t, std::int32_t>{from, n, to});
}
void convert(const std::int32_t* from, std::int64_t n, std::int64_t* to, Stream stream) {
  CudaGrid(stream).launch(ConvertKernel<std::int32_t, std::int64_t>{from, n, to});
}

ProductFunctions make_products() {
  return {cublas_name, ProductsOn<CudaGrid>::nmg, ProductsOn<CudaGrid>::nmg_transposed,
          cusparse_name, cusparse_csr};
}

}  // namespace sten::kernels::cuda
