// SPDX-License-Identifier: Apache-2.0
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>

#include "kernels/cuda/backend.h"
#include "tests/device/serial_backend.h"

// Runs all tests, or those that the arguments select. Exits with 77 (skipped in ctest) if a CUDA
// device is requested and none is usable.
int main(int argc, char** argv) {
  using namespace sten;
  if (testing::SerialDevice::is_replaced() && !kernels::cuda::true_backend()) {
    std::printf("skipped: %s\n", kernels::cuda::absence().c_str());
    return 77;
  }
  if (const char* record = std::getenv("STEN_RECORD")) std::remove(record);  // of an earlier run
  return doctest::Context(argc, argv).run();
}
