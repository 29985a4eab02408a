// SPDX-License-Identifier: Apache-2.0
#include "tests/device/serial_backend.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>
#include <vector>

#include "kernels/cuda/backend.h"

using namespace sten::kernels;
using namespace sten::testing;

TEST_CASE("the serial backend counts its memory and copies and detects invalid releases" *
          stand_in_only()) {
  const cuda::Backend* before = cuda::backend();
  {
    SerialDevice device(1 << 20);
    const cuda::MemoryFunctions& m = cuda::backend()->memory;
    const SerialDevice::Live live = SerialDevice::live();
    void* data = m.allocate(1000, nullptr);
    CHECK(reinterpret_cast<std::uintptr_t>(data) % 256 == 0);
    CHECK(SerialDevice::live().bytes == live.bytes + 1000);
    CHECK(m.unused() == (1 << 20) - live.bytes - 1000);
    CHECK_THROWS_AS(m.allocate(1 << 20, nullptr), std::bad_alloc);
    std::vector<unsigned char> device_copy(1000, 7), back(1000);
    m.upload(data, device_copy.data(), 1000, nullptr);
    m.download(back.data(), data, 1000, nullptr);
    CHECK(back == device_copy);
    CHECK(SerialDevice::uploads() == 1);
    std::vector<std::uint8_t> bits(125);
    void* to = m.allocate(125, nullptr);
    cuda::backend()->elementwise.nonzero_bits({data, 1, 1000}, static_cast<std::uint8_t*>(to),
                                              nullptr);
    m.download(bits.data(), to, 125, nullptr);
    CHECK(bits == std::vector<std::uint8_t>(125, 0xff));
    m.clear(data, 1000, nullptr);
    CHECK(cuda::backend()->elementwise.count_nonzero({data, 1, 1000}, nullptr) == 0);
    m.release(to, nullptr);
    m.clear(data, 1001, nullptr);
    CHECK_THROWS_AS(m.release(data, nullptr), std::logic_error);
    CHECK_THROWS_AS(m.release(data, nullptr), std::logic_error);
    CHECK(SerialDevice::live() == live);
    CHECK(SerialDevice::most_bytes() == live.bytes + 1125);
  }
  CHECK(cuda::backend() == before);
}

TEST_CASE("host code that accesses memory of the serial backend crashes" * stand_in_only()) {
  SerialDevice device;
  const cuda::MemoryFunctions& m = cuda::backend()->memory;
  auto* data = static_cast<volatile char*>(m.allocate(16, nullptr));
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGSEGV, SIG_DFL);
    _exit(data[0]);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGSEGV);
  m.release(const_cast<char*>(data), nullptr);
}

TEST_CASE("the test backend prunes to n:m and multiplies dense and csr") {
  SerialDevice device;
  const cuda::Backend& on = *cuda::backend();
  const SerialDevice::Live live = SerialDevice::live();
  const auto on_device = [&](const auto& host) {
    using T = std::remove_cvref_t<decltype(host[0])>;
    const std::size_t bytes = host.size() * sizeof(T);
    auto* data = static_cast<T*>(on.memory.allocate(bytes, nullptr));
    on.memory.upload(data, host.data(), bytes, nullptr);
    return std::shared_ptr<T>(data, [&](T* p) { on.memory.release(p, nullptr); });
  };
  const std::vector<float> x{1, -3, 2, 0, 5, 6, -7, 8};
  const auto a = on_device(x), c = on_device(std::vector<float>(2));
  const auto b = on_device(std::vector<float>{1, 10, 100, 1000});
  const auto bits = on_device(std::vector<std::uint8_t>(4));  // whole words
  BlockMatrix matrix;
  matrix.rows = 2, matrix.cols = matrix.row_stride = 4;
  on.nm.select(matrix, 2, 4, {a.get(), 4, 8}, FloatKind::f32, bits.get(), nullptr);
  on.elementwise.mask_values({a.get(), 4, 8}, bits.get(), a.get(), nullptr);
  const auto product = [&](auto&& multiply) {
    std::vector<float> found(2);
    multiply(ProductOperands{2, 4, 1, b.get(), 1, c.get(), 1});
    on.memory.download(found.data(), c.get(), 8, nullptr);
    return found;
  };
  const std::vector<float> expected{170, 7300};
  CHECK(product([&](const ProductOperands& p) {
          on.gemm.dense({.m = 2,
                         .n = 1,
                         .k = 4,
                         .a = a.get(),
                         .lda = 4,
                         .b = p.b,
                         .ldb = p.ldb,
                         .c = p.c,
                         .ldc = p.ldc},
                        nullptr);
        }) == expected);
  const auto row_ptr = on_device(std::vector<std::int64_t>{0, 2, 4});
  const auto columns = on_device(std::vector<std::int32_t>{1, 2, 2, 3});
  const auto values = on_device(std::vector<float>{-3, 2, -7, 8});
  CHECK(product([&](const ProductOperands& p) {
          const std::unique_ptr<PreparedProduct> csr(
              on.products.csr(2, 4, 4, row_ptr.get(), columns.get(), values.get(), nullptr));
          if (!SerialDevice::is_replaced())
            CHECK(SerialDevice::live().products == live.products + 1);
          csr->run(p, nullptr);
        }) == expected);
}
