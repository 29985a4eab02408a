// SPDX-License-Identifier: Apache-2.0
// The norm of gradients in the order of squared_norm() (libsten/training/optim/gradients.cpp). Squares of
// floats are exact in double, so the result is bitwise that of the CPU.
#pragma once
#include <cmath>

#include "kernels/block/elementwise/groups.h"
#include "kernels/block/step_functions.h"

namespace sten::kernels {

STEN_HOST_DEVICE inline std::int64_t grains_of(std::int64_t n) {
  return (n + squares_grain - 1) / squares_grain;
}

// Each segment of a grain has 8 sums, each of every 8th element; a thread has one sum.
struct Squares {
  static constexpr int lanes = 8, piece = 1024;
  static constexpr int pieces = static_cast<int>(squares_grain / piece);
  static constexpr int threads = pieces * lanes;
  const float* x;
  const std::uint8_t* bits;  // or nullptr
  std::int64_t n;
  double* sums;
  std::int64_t* end;    // receives the end of the sums,
  const double* first;  // relative to this start; or nullptr

  std::int64_t blocks() const { return grains_of(n); }
  std::size_t shared_bytes() const { return (threads + pieces) * sizeof(double); }
  template <class Block>
  STEN_DEVICE void operator()(Block& b, std::int64_t grain) const {
    auto of_lanes = b.template shared<double>(threads);
    auto of_pieces = b.template shared<double>(pieces);
    b.for_each_thread([&](int t) {
      const std::int64_t begin = grain * squares_grain + (t / lanes) * std::int64_t{piece};
      const std::int64_t left = n - begin;
      const int count = left >= piece ? piece : left > 0 ? static_cast<int>(left) : 0;
      const int lane = t % lanes, whole = count / lanes * lanes;
      double sum = 0;
      const auto add = [&](int i) {
        if (bits && !bit_of(bits, begin + i)) return;
        const double v = x[begin + i];
        sum += v * v;
      };
      for (int i = lane; i < whole; i += lanes) add(i);
      if (lane == 0)
        for (int i = whole; i < count; ++i) add(i);
      of_lanes[t] = sum;
    });
    b.for_each_thread([&](int t) {
      if (t >= pieces) return;
      const auto of = [&](int lane) -> double { return of_lanes[t * lanes + lane]; };
      of_pieces[t] = ((of(0) + of(4)) + (of(1) + of(5))) + ((of(2) + of(6)) + (of(3) + of(7)));
    });
    b.for_each_thread([&](int t) {
      if (t != 0) return;
      double sum = 0;
      for (int p = 0; p < pieces; ++p) sum += of_pieces[p];
      sums[grain] = sum;
      if (end && grain == 0) *end = sums - first + grains_of(n);
    });
  }
};

struct NormOfSums {
  static constexpr int threads = 256;
  const double* sums;
  const std::int64_t* ends;
  std::int64_t tensors;
  double clip;
  double* norm;
  float* scale;  // or nullptr

  std::int64_t blocks() const { return 1; }
  std::size_t shared_bytes() const { return threads * sizeof(double); }
  template <class Block>
  STEN_DEVICE void operator()(Block& b, std::int64_t) const {
    auto of = b.template shared<double>(threads);
    auto all = b.template per_thread<double>();  // used by thread 0
    b.for_each_thread([&](int t) { all(t) = 0; });
    for (std::int64_t first = 0; first < tensors; first += threads) {
      const std::int64_t left = tensors - first;
      const int count = left < threads ? static_cast<int>(left) : threads;
      b.for_each_thread([&](int t) {
        if (t < count) of[t] = sum_of(first + t);
      });
      b.for_each_thread([&](int t) {
        if (t != 0) return;
        for (int k = 0; k < count; ++k) all(t) += of[k];
      });
    }
    b.for_each_thread([&](int t) {
      if (t != 0) return;
      const double root = std::sqrt(all(t)), by = clip / (root + 1e-6);
      *norm = root;
      if (scale) *scale = static_cast<float>(by < 1 ? by : 1.0);
    });
  }

 private:
  // Adds in order, but loads do not wait for each other.
  STEN_DEVICE double sum_of(std::int64_t tensor) const {
    constexpr int ahead = 8;
    double sum = 0;
    std::int64_t i = tensor == 0 ? 0 : ends[tensor - 1];
    const std::int64_t end = ends[tensor];
    for (; i + ahead <= end; i += ahead) {
      double next[ahead];
      for (int j = 0; j < ahead; ++j) next[j] = sums[i + j];
      for (int j = 0; j < ahead; ++j) sum += next[j];
    }
    for (; i < end; ++i) sum += sums[i];
    return sum;
  }
};

}  // namespace sten::kernels
