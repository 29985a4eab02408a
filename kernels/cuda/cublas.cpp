#include <cublas_v2.h>

#include <algorithm>

#include "kernels/cuda/libraries.h"
#include "kernels/cuda/library.h"

namespace sten::kernels::cuda {
namespace {

// What cusparse.cpp has too is in library.h; the rest has the names and types of this library.
struct Cublas {
  decltype(&cublasCreate_v2) create;
  decltype(&cublasSetStream_v2) set_stream;
  decltype(&cublasSetMathMode) set_math;
  decltype(&cublasSgemm_v2_64) sgemm;
  decltype(&cublasGetStatusString) words;
  decltype(&cublasGetProperty) property;
  std::string name;
  bool is_there;

  Cublas() {
    Library library("cublas", CUBLAS_VER_MAJOR, 13, 12);
    library.find(create, "cublasCreate_v2");
    library.find(set_stream, "cublasSetStream_v2");
    library.find(set_math, "cublasSetMathMode");
    library.find(sgemm, "cublasSgemm_v2_64");
    library.find(words, "cublasGetStatusString");
    library.find(property, "cublasGetProperty");
    is_there = library.is_whole();
    if (is_there) name = name_of_library("cuBLAS", property);
  }
  void check(cublasStatus_t status, const char* doing) const {
    if (status == CUBLAS_STATUS_SUCCESS) return;
    if (status == CUBLAS_STATUS_ALLOC_FAILED) throw std::bad_alloc();
    throw std::runtime_error(name + ": " + doing + ": " + words(status));
  }
  // Floats stay floats in this mode: TF32 is asked for by another one.
  cublasHandle_t make() const {
    cublasHandle_t handle = nullptr;
    check(create(&handle), "its start");
    check(set_math(handle, CUBLAS_DEFAULT_MATH), "its start");
    return handle;
  }
};

const Cublas& cublas() {
  static const Cublas* const loaded = new Cublas;
  return *loaded;
}

}  // namespace

const char* cublas_name() { return cublas().is_there ? cublas().name.c_str() : nullptr; }

// Matrices of cuBLAS are stored by columns: C^T = B^T A^T.
void cublas_dense(const float* a, std::int64_t lda, const ProductOperands& x, Stream stream) {
  if (x.rows == 0 || x.n == 0) return;
  static auto* const handles = new Handles<cublasHandle_t>;
  handles->use([] { return cublas().make(); },
               [&](cublasHandle_t handle) {
                 const Cublas& by = cublas();
                 const float one = 1, zero = 0;
                 by.check(by.set_stream(handle, static_cast<cudaStream_t>(stream)), "a stream");
                 by.check(by.sgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, x.n, x.rows, x.cols, &one, x.b,
                                   x.ldb, a, std::max<std::int64_t>(lda, 1), &zero, x.c, x.ldc),
                          "a product");
               });
}

}  // namespace sten::kernels::cuda
