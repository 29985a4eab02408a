// SPDX-License-Identifier: Apache-2.0
#include <cublas_v2.h>

#include <algorithm>

#include "kernels/cuda/libraries.h"
#include "kernels/cuda/library.h"

namespace sten::kernels::cuda {
namespace {

// The functions and types of cuBLAS; library.h has the parts that cusparse.cpp shares.
struct Cublas {
  decltype(&cublasCreate_v2) create;
  decltype(&cublasSetStream_v2) set_stream;
  decltype(&cublasGemmEx_64) gemm;
  decltype(&cublasGemmStridedBatchedEx_64) batches;
  decltype(&cublasGetStatusString) words;
  decltype(&cublasGetProperty) property;
  std::string name;
  bool is_loaded;

  Cublas() {
    Library library("cublas", CUBLAS_VER_MAJOR, 13, 12);
    library.find(create, "cublasCreate_v2");
    library.find(set_stream, "cublasSetStream_v2");
    library.find(gemm, "cublasGemmEx_64");
    library.find(batches, "cublasGemmStridedBatchedEx_64");
    library.find(words, "cublasGetStatusString");
    library.find(property, "cublasGetProperty");
    is_loaded = library.is_whole();
    if (is_loaded) name = name_of_library("cuBLAS", property);
  }
  void check(cublasStatus_t status, const char* doing) const {
    if (status == CUBLAS_STATUS_SUCCESS) return;
    if (status == CUBLAS_STATUS_ALLOC_FAILED) throw std::bad_alloc();
    throw std::runtime_error(name + ": " + doing + ": " + words(status));
  }
  cublasHandle_t make() const {
    cublasHandle_t handle = nullptr;
    check(create(&handle), "its start");
    return handle;
  }
  void prepare(cublasHandle_t handle, Stream stream) const {
    check(set_stream(handle, static_cast<cudaStream_t>(stream)), "a stream");
  }
};

const Cublas& cublas() {
  static const Cublas* const loaded = new Cublas;
  return *loaded;
}

struct Started {
  cublasHandle_t handle;
  Stream stream = nullptr;
  bool has_stream = false;
};

// Calls f(cublas(), the handle of this device).
template <class F>
void with_handle(Stream stream, F&& f) {
  static auto* const handles = new Handles<Started>;
  handles->use([] { return Started{cublas().make()}; },
               [&](Started& s) {
                 if (!s.has_stream || s.stream != stream) cublas().prepare(s.handle, stream);
                 s.stream = stream;
                 s.has_stream = true;
                 f(cublas(), s.handle);
               });
}

cublasComputeType_t compute_type(Factors factors) {
  switch (factors) {
    case Factors::tf32:
      return CUBLAS_COMPUTE_32F_FAST_TF32;
    case Factors::bfloat16:
      return CUBLAS_COMPUTE_32F_FAST_16BF;
    default:
      return CUBLAS_COMPUTE_32F;
  }
}

std::int64_t least_one(std::int64_t stride) { return std::max<std::int64_t>(stride, 1); }

}  // namespace

const char* cublas_name() { return cublas().is_loaded ? cublas().name.c_str() : nullptr; }

// cuBLAS matrices are column-major: C^T = B^T A^T.
void cublas_products(const GemmOperands& x, Stream stream) {
  if (x.m == 0 || x.n == 0 || x.batch == 0) return;
  const cublasOperation_t op_a = x.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
  const cublasOperation_t op_b = x.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
  const std::int64_t lda = least_one(x.lda), ldb = least_one(x.ldb);
  const cublasComputeType_t by_type = compute_type(x.factors);
  constexpr cudaDataType_t type = CUDA_R_32F;
  constexpr cublasGemmAlgo_t any = CUBLAS_GEMM_DEFAULT;
  with_handle(stream, [&](const Cublas& by, cublasHandle_t handle) {
    by.check(x.batch == 1 ? by.gemm(handle, op_b, op_a, x.n, x.m, x.k, &x.alpha, x.b, type, ldb,
                                    x.a, type, lda, &x.beta, x.c, type, x.ldc, by_type, any)
                          : by.batches(handle, op_b, op_a, x.n, x.m, x.k, &x.alpha, x.b, type, ldb,
                                       x.b_step, x.a, type, lda, x.a_step, &x.beta, x.c, type,
                                       x.ldc, x.c_step, x.batch, by_type, any),
             "a product");
  });
}

}  // namespace sten::kernels::cuda
