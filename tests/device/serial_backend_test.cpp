#include "tests/device/serial_backend.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <new>
#include <stdexcept>
#include <vector>

#include "kernels/cuda/backend.h"

using namespace sten::kernels;
using sten::testing::SerialDevice;

TEST_CASE("the device of tests has its memory, and says what is left of it") {
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
    std::vector<unsigned char> there(1000, 7), back(1000);
    m.upload(data, there.data(), 1000, nullptr);
    m.download(back.data(), data, 1000, nullptr);
    CHECK(back == there);
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

TEST_CASE("host code that touches the memory of the device of tests crashes") {
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
