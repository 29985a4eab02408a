// SPDX-License-Identifier: Apache-2.0
// Products of NVIDIA's libraries with the interface of functions.h. Each library has a source file,
// and a replacement in kernels/absent/ for toolkits without its header.
#pragma once
#include "kernels/block/gemm_functions.h"

namespace sten::kernels::cuda {

const char* cublas_name();
// GemmFunctions::dense.
void cublas_products(const GemmOperands&, Stream);

const char* cusparse_name();
PreparedProduct* cusparse_csr(std::int64_t rows, std::int64_t cols, std::int64_t nnz,
                              const std::int64_t* row_ptr, const std::int32_t* columns,
                              const float* values, Stream);

// to[i] = from[i], in device memory.
void convert(const std::int64_t* from, std::int64_t n, std::int32_t* to, Stream);
void convert(const std::int32_t* from, std::int64_t n, std::int64_t* to, Stream);

}  // namespace sten::kernels::cuda
