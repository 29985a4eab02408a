// SPDX-License-Identifier: Apache-2.0
#include <cusparse.h>

#include <limits>
#include <tuple>

#include "kernels/cuda/libraries.h"
#include "kernels/cuda/library.h"

namespace sten::kernels::cuda {
namespace {

// The functions and types of cuSPARSE; library.h has the parts that cublas.cpp shares.
struct Cusparse {
  decltype(&cusparseCreate) create;
  decltype(&cusparseSetStream) set_stream;
  decltype(&cusparseCreateCsr) create_csr;
  decltype(&cusparseDestroySpMat) destroy_csr;
  decltype(&cusparseCreateDnMat) create_dense;
  decltype(&cusparseDestroyDnMat) destroy_dense;
  decltype(&cusparseSpMM_bufferSize) buffer_size;
  decltype(&cusparseSpMM) multiply;
  decltype(&cusparseGetErrorString) words;
  decltype(&cusparseGetProperty) property;
  std::string name;
  bool is_loaded;

  Cusparse() {
    Library library("cusparse", CUSPARSE_VER_MAJOR, 13, 12);
    library.find(create, "cusparseCreate");
    library.find(set_stream, "cusparseSetStream");
    library.find(create_csr, "cusparseCreateCsr");
    library.find(destroy_csr, "cusparseDestroySpMat");
    library.find(create_dense, "cusparseCreateDnMat");
    library.find(destroy_dense, "cusparseDestroyDnMat");
    library.find(buffer_size, "cusparseSpMM_bufferSize");
    library.find(multiply, "cusparseSpMM");
    library.find(words, "cusparseGetErrorString");
    library.find(property, "cusparseGetProperty");
    is_loaded = library.is_whole();
    if (is_loaded) name = name_of_library("cuSPARSE", property);
  }
  void check(cusparseStatus_t status, const char* doing) const {
    if (status == CUSPARSE_STATUS_SUCCESS) return;
    if (status == CUSPARSE_STATUS_ALLOC_FAILED) throw std::bad_alloc();
    throw std::runtime_error(name + ": " + doing + ": " + words(status));
  }
  cusparseHandle_t make() const {
    cusparseHandle_t handle = nullptr;
    check(create(&handle), "its start");
    return handle;
  }
};

const Cusparse& cusparse() {
  static const Cusparse* const loaded = new Cusparse;
  return *loaded;
}

// Descriptor of a dense matrix during a call.
class RowMajor {
 public:
  RowMajor(std::int64_t rows, std::int64_t cols, std::int64_t stride, const float* x) {
    cusparse().check(cusparse().create_dense(&it_, rows, cols, stride, const_cast<float*>(x),
                                             CUDA_R_32F, CUSPARSE_ORDER_ROW),
                     "a dense matrix");
  }
  ~RowMajor() { (void)cusparse().destroy_dense(it_); }
  RowMajor(const RowMajor&) = delete;
  RowMajor& operator=(const RowMajor&) = delete;
  operator cusparseDnMatDescr_t() const { return it_; }

 private:
  cusparseDnMatDescr_t it_ = nullptr;
};

// Row offsets and columns share a type: 32 bits if the number of values fits.
class CsrProduct : public PreparedProduct {
 public:
  CsrProduct(std::int64_t rows, std::int64_t cols, std::int64_t nnz, const std::int64_t* row_ptr,
             const std::int32_t* columns, const float* values, Stream stream) {
    const bool is_narrow = nnz <= std::numeric_limits<std::int32_t>::max();
    const std::int64_t converted = is_narrow ? rows + 1 : nnz;
    converted_ = DeviceMemory(static_cast<std::size_t>(converted) * (is_narrow ? 4 : 8), stream);
    if (is_narrow)
      convert(row_ptr, converted, static_cast<std::int32_t*>(converted_.data()), stream);
    else
      convert(columns, converted, static_cast<std::int64_t*>(converted_.data()), stream);
    const void* offsets = is_narrow ? converted_.data() : static_cast<const void*>(row_ptr);
    const void* column_indices = is_narrow ? static_cast<const void*>(columns) : converted_.data();
    const cusparseIndexType_t type = is_narrow ? CUSPARSE_INDEX_32I : CUSPARSE_INDEX_64I;
    cusparse().check(
        cusparse().create_csr(&a_, rows, cols, nnz, const_cast<void*>(offsets),
                              const_cast<void*>(column_indices), const_cast<float*>(values), type,
                              type, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F),
        "a sparse matrix");
  }
  ~CsrProduct() override { (void)cusparse().destroy_csr(a_); }
  CsrProduct(const CsrProduct&) = delete;
  CsrProduct& operator=(const CsrProduct&) = delete;

  void run(const ProductOperands& x, Stream stream) override {
    if (x.rows == 0 || x.n == 0) return;
    static auto* const handles = new Handles<cusparseHandle_t>;
    handles->use([] { return cusparse().make(); },
                 [&](cusparseHandle_t handle) { multiply(handle, x, stream); });
  }

 private:
  // Uses the algorithm for row-major dense matrices, which needs no preprocessing.
  void multiply(cusparseHandle_t handle, const ProductOperands& x, Stream stream) {
    const Cusparse& by = cusparse();
    constexpr cusparseOperation_t as_is = CUSPARSE_OPERATION_NON_TRANSPOSE;
    constexpr cusparseSpMMAlg_t algorithm = CUSPARSE_SPMM_CSR_ALG2;
    const float one = 1, zero = 0;
    by.check(by.set_stream(handle, static_cast<cudaStream_t>(stream)), "a stream");
    const RowMajor b(x.cols, x.n, x.ldb, x.b), c(x.rows, x.n, x.ldc, x.c);
    const std::tuple shape(x.n, x.ldb, x.ldc);
    if (shape != shape_) {
      std::size_t bytes = 0;
      by.check(by.buffer_size(handle, as_is, as_is, &one, a_, b, &zero, c, CUDA_R_32F, algorithm,
                              &bytes),
               "the size of its buffer");
      buffer_ = DeviceMemory(bytes, stream);
      shape_ = shape;
    }
    by.check(by.multiply(handle, as_is, as_is, &one, a_, b, &zero, c, CUDA_R_32F, algorithm,
                         buffer_.data()),
             "a product");
  }

  cusparseSpMatDescr_t a_ = nullptr;
  DeviceMemory converted_, buffer_;
  std::tuple<std::int64_t, std::int64_t, std::int64_t> shape_{
      0, 0, 0};  // shape for which the buffer was made
};

}  // namespace

const char* cusparse_name() { return cusparse().is_loaded ? cusparse().name.c_str() : nullptr; }

PreparedProduct* cusparse_csr(std::int64_t rows, std::int64_t cols, std::int64_t nnz,
                              const std::int64_t* row_ptr, const std::int32_t* columns,
                              const float* values, Stream stream) {
  return new CsrProduct(rows, cols, nnz, row_ptr, columns, values, stream);
}

}  // namespace sten::kernels::cuda
