// SPDX-License-Identifier: Apache-2.0
// ProductFunctions: all sparse products of a device.
#include <doctest/doctest.h>

#include <memory>

#include "kernels/cuda/backend.h"
#include "tests/device/serial_backend.h"
#include "tests/kernels/product_case.h"

using namespace sten;
using namespace sten::testing;
using kernels::ProductOperands;

namespace {

// A copy on the device.
template <class T>
class OnDevice {
 public:
  OnDevice(const kernels::cuda::Backend& cuda, const std::vector<T>& host)
      : memory_(cuda.memory), size_(host.size()), data_(memory_.allocate(bytes() + 1, nullptr)) {
    memory_.upload(data_, host.data(), bytes(), nullptr);
  }
  ~OnDevice() { memory_.release(data_, nullptr); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  T* data() const { return static_cast<T*>(data_); }
  std::vector<T> back() const {
    std::vector<T> host(size_);
    memory_.download(host.data(), data_, bytes(), nullptr);
    memory_.wait(nullptr);
    return host;
  }

 private:
  std::size_t bytes() const { return size_ * sizeof(T); }
  const kernels::cuda::MemoryFunctions& memory_;
  std::size_t size_;
  void* data_;
};

std::vector<std::byte> storage_of(const Values& x) { return {x.bytes().begin(), x.bytes().end()}; }

// C of a case, computed by f(operands) in device memory.
template <class F>
std::vector<float> by_device(const kernels::cuda::Backend& cuda, const ProductCase& x, F&& f) {
  const OnDevice b(cuda, x.b), c(cuda, std::vector<float>(x.skew + x.rows * x.ldc, untouched));
  f(ProductOperands{x.rows, x.cols, x.n, b.data() + x.skew, x.ldb, c.data() + x.skew, x.ldc});
  return c.back();
}

std::vector<float> nmg_by_device(const kernels::cuda::Backend& cuda, const ProductCase& x) {
  kernels::NmgFormat f = x.format();
  const OnDevice patterns(cuda, std::vector<std::uint16_t>(f.patterns, f.patterns + f.count * f.n));
  const OnDevice values(cuda, storage_of(x.a.values)), index(cuda, storage_of(x.a.index));
  f.patterns = patterns.data(), f.swaps = nullptr;
  return by_device(cuda, x, [&](const ProductOperands& on) {
    cuda.products.nmg(f, reinterpret_cast<const float*>(values.data()), index.data(), on, nullptr);
  });
}

std::vector<float> dense_by_device(const kernels::cuda::Backend& cuda, const ProductCase& x) {
  const OnDevice a(cuda, floats(x.a.to_dense()));
  return by_device(cuda, x, [&](const ProductOperands& on) {
    cuda.gemm.dense({.m = on.rows,
                     .n = on.n,
                     .k = on.cols,
                     .a = a.data(),
                     .lda = x.cols,
                     .b = on.b,
                     .ldb = on.ldb,
                     .c = on.c,
                     .ldc = on.ldc},
                    nullptr);
  });
}

std::vector<float> csr_by_device(const kernels::cuda::Backend& cuda, const ProductCase& x) {
  std::vector<std::int64_t> row_ptr{0};
  std::vector<std::int32_t> columns;
  std::vector<float> values;
  const std::vector<float> a = floats(x.a.to_dense());
  for (Index r = 0; r < x.rows; ++r) {
    for (Index k = 0; k < x.cols; ++k)
      if (a[r * x.cols + k] != 0) {
        columns.push_back(static_cast<std::int32_t>(k));
        values.push_back(a[r * x.cols + k]);
      }
    row_ptr.push_back(std::ssize(values));
  }
  const OnDevice p(cuda, row_ptr);
  const OnDevice i(cuda, columns);
  const OnDevice v(cuda, values);
  const std::unique_ptr<kernels::PreparedProduct> product(
      cuda.products.csr(x.rows, x.cols, std::ssize(values), p.data(), i.data(), v.data(), nullptr));
  return by_device(cuda, x, [&](const ProductOperands& on) {
    product->run(on, nullptr);
    product->run(on, nullptr);
  });
}

void check_products(const kernels::cuda::Backend& on, std::uint64_t seed, int rounds, Index rows,
                    Index most_cols) {
  Dice dice(seed);
  for (int round = 0; round < rounds; ++round)
    for (const ProductFormat f : product_formats()) {
      const ProductCase x = any_case(dice, f, rows * f.m, most_cols);
      if (!is_same(nmg_by_device(on, x), in_order(x))) FAIL_CHECK(x.text() << ": other bits");
      if (on.products.dense_library() && !is_near(dense_by_device(on, x), x))
        FAIL_CHECK(x.text() << ": not by " << on.products.dense_library());
      if (on.products.csr_library() && !is_near(csr_by_device(on, x), x))
        FAIL_CHECK(x.text() << ": not by " << on.products.csr_library());
    }
}

}  // namespace

TEST_CASE("small n:m:g, dense and csr products of a device match the reference") {
  const SerialDevice device;
  check_products(*kernels::cuda::backend(), 4, 1, 3, 200);
}

TEST_CASE("large n:m:g, dense and csr products of a CUDA device match the reference" *
          cuda_only()) {
  const kernels::cuda::Backend* cuda = kernels::cuda::backend();
  check_products(*cuda, 5, 20, 30, 1500);
}
