#include "kernels/cuda/functions.cuh"

namespace sten::kernels::cuda {

ProductFunctions make_products() { return {}; }

}  // namespace sten::kernels::cuda
