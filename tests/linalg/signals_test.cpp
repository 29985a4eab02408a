// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "libsten/compute/linalg/dense_library.h"
#include "libsten/core/base/random.h"

using namespace sten;

namespace {

std::atomic<int> handled{0};
void count(int) { ++handled; }

std::vector<float> uniform_values(std::uint64_t seed, Index n) {
  std::vector<float> x(n);
  for (Index i = 0; i < n; ++i)
    x[i] = static_cast<float>(random_uniform(seed, static_cast<std::uint64_t>(i)));
  return x;
}

// Sends signals to this thread.
class Signals {
 public:
  Signals() {
    handled = 0;
    struct sigaction action = {};
    action.sa_handler = count;
    sigaction(SIGUSR2, &action, &before_);
    sender_ = std::thread([this, to = pthread_self()] {
      while (!done_) {
        pthread_kill(to, SIGUSR2);
        std::this_thread::sleep_for(std::chrono::microseconds(20));
      }
    });
  }
  ~Signals() {
    done_ = true;
    sender_.join();
    sigaction(SIGUSR2, &before_, nullptr);
  }

 private:
  struct sigaction before_ = {};
  std::atomic<bool> done_{false};
  std::thread sender_;
};

}  // namespace

TEST_CASE("dense products are bit-identical while signals interrupt the thread") {
  const Index n = 128, few = 32;
  const std::vector<float> a = uniform_values(1, n * n), b = uniform_values(2, n * few);
  for (const DenseLibrary& library : dense_libraries()) {
    CAPTURE(library.name);
    std::vector<float> wanted(n * few), c(n * few);
    library.multiply(Transpose::none, n, few, n, a.data(), b.data(), wanted.data(), 1);
    Index wrong = 0;
    {
      const Signals signals;
      const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
      while (handled < 2000 && std::chrono::steady_clock::now() < end) {
        library.multiply(Transpose::none, n, few, n, a.data(), b.data(), c.data(), 1);
        wrong += c != wanted;
      }
    }
    CHECK(handled > 0);
    CHECK(wrong == 0);
  }
}
