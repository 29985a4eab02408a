// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/linalg/convolution.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/reference/convolution.h"
#include "libsten/compute/linalg/convolution_product.h"
#include "libsten/compute/linalg/winograd.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

using Axes = Convolution::Axes;

// Extents with the result computed; `after` is the padding at the end.
Convolution of(Index batch, Index in, Index out, Axes size, Axes kernel, Axes stride = {1, 1, 1},
               Axes before = {}, Axes after = {}, Index groups = 1, Axes dilation = {1, 1, 1}) {
  Convolution c{batch, in, out, groups, size, kernel, stride, dilation, before, {}};
  for (int d = 0; d < 3; ++d)
    c.result[d] =
        (size[d] + before[d] + after[d] - (kernel[d] - 1) * dilation[d] - 1) / stride[d] + 1;
  return c;
}

const std::vector<Convolution>& cases() {
  static const std::vector<Convolution> all{
      of(1, 1, 1, {1, 1, 1}, {1, 1, 1}),
      of(2, 3, 5, {1, 5, 6}, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}),
      of(3, 16, 24, {1, 9, 7}, {1, 3, 3}, {1, 2, 2}, {0, 1, 1}, {0, 1, 1}),
      of(2, 8, 16, {1, 8, 8}, {1, 1, 1}), of(2, 8, 16, {1, 8, 8}, {1, 1, 1}, {1, 2, 2}),
      of(1, 3, 8, {1, 15, 14}, {1, 7, 7}, {1, 2, 2}, {0, 3, 3}, {0, 3, 3}),
      of(2, 12, 18, {1, 6, 7}, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}, 3),
      of(2, 10, 10, {1, 7, 9}, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}, 10),
      of(2, 6, 12, {1, 7, 9}, {1, 5, 5}, {1, 2, 1}, {0, 2, 2}, {0, 2, 2}, 6),
      of(1, 4, 3, {1, 11, 10}, {1, 3, 3}, {1, 1, 1}, {0, 2, 2}, {0, 2, 2}, 1, {1, 2, 3}),
      of(2, 4, 4, {1, 6, 6}, {1, 2, 3}, {1, 1, 1}, {0, 0, 1}, {0, 1, 0}),
      of(2, 5, 7, {1, 1, 20}, {1, 1, 3}, {1, 1, 2}, {0, 0, 1}, {0, 0, 1}),
      of(2, 3, 4, {4, 5, 6}, {3, 2, 3}, {1, 2, 1}, {1, 0, 1}, {1, 1, 1}),
      of(2, 32, 40, {1, 13, 9}, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}),
      of(5, 64, 32, {1, 8, 8}, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}),
      of(3, 33, 65, {1, 10, 11}, {1, 3, 3}, {1, 1, 1}, {0, 0, 2}, {0, 1, 0}),
      // Cases that oneDNN divides by the number of threads, or writes out of bounds.
      of(2, 16, 16, {1, 14, 14}, {1, 11, 11}, {1, 4, 4}, {0, 5, 5}, {0, 5, 5}),
      of(2, 20, 64, {1, 7, 7}, {1, 5, 5}, {1, 1, 1}, {0, 4, 4}, {0, 4, 4}, 1, {1, 2, 2}),
      of(1, 4, 4, {1, 1, 5}, {1, 1, 2}, {1, 1, 2}, {0, 0, 2}, {0, 0, 2}, 1, {1, 1, 2}),
      of(2, 3, 2, {1, 8, 8}, {1, 1, 1}, {1, 2, 2}), of(2, 4, 8, {1, 56, 56}, {1, 1, 1}, {1, 2, 2}),
      // A kernel that extends beyond the image on all sides.
      of(1, 2, 2, {1, 2, 2}, {1, 3, 3}, {1, 1, 1}, {0, 2, 2}, {0, 2, 2})};
  return all;
}

std::vector<float> values(std::uint64_t seed, Index n) {
  std::vector<float> x(n);
  for (Index i = 0; i < n; ++i)
    x[i] = static_cast<float>(2 * random_uniform(seed, static_cast<std::uint64_t>(i)) - 1);
  return x;
}

using Wide = std::vector<double>;
Wide wide(const std::vector<float>& x) { return {x.begin(), x.end()}; }

// A convolution and its gradients on fixed values.
struct Problem {
  Convolution c;
  std::vector<float> x, w, b, dy;
  explicit Problem(const Convolution& given)
      : c(given),
        x(values(1, c.batch * c.pixels() * c.in)),
        w(values(2, c.out * c.group_in() * c.taps())),
        b(values(3, c.out)),
        dy(values(4, c.batch * c.output_positions() * c.out)) {}
};

struct Results {
  std::vector<float> y, dx, dw;
};
using Forward = void (*)(const Convolution&, const float*, const float*, const float*, float*,
                         const ConvolutionEnd&);
using Other = void (*)(const Convolution&, const float*, const float*, float*);

Results results_of(const Problem& p, Forward forward, Other data, Other weights) {
  // Outputs start as NaN, to show that old values are not read.
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Results r{std::vector<float>(p.dy.size(), nan), std::vector<float>(p.x.size(), nan),
            std::vector<float>(p.w.size(), nan)};
  forward(p.c, p.x.data(), p.w.data(), p.b.data(), r.y.data(), {});
  data(p.c, p.dy.data(), p.w.data(), r.dx.data());
  weights(p.c, p.x.data(), p.dy.data(), r.dw.data());
  return r;
}

// The error grows with the number of terms in a sum.
void check_close(const std::vector<float>& got, const Wide& wanted, Index terms, double error) {
  double worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    REQUIRE(!std::isnan(got[i]));
    worst = std::fmax(worst, std::abs(got[i] - wanted[i]));
  }
  CHECK(worst <= error * 2e-7 * static_cast<double>(terms + 4));
}

// `error`: the allowed error, as a multiple of that of the formula in float32.
void check_by(
    Forward forward, Other data, Other weights, double error = 1,
    bool (*takes)(const Convolution&) = [](const Convolution&) { return true; }) {
  for (const Convolution& c : cases()) {
    if (!takes(c)) continue;
    CAPTURE(c.in);
    CAPTURE(c.out);
    CAPTURE(c.size[1]);
    CAPTURE(c.kernel[1]);
    CAPTURE(c.groups);
    const Problem p(c);
    const Wide x = wide(p.x), w = wide(p.w), b = wide(p.b), dy = wide(p.dy);
    Wide y(dy.size()), dx(x.size()), dw(w.size());
    kernels::convolve_reference(c, x.data(), w.data(), b.data(), y.data());
    kernels::convolve_data_reference(c, dy.data(), w.data(), dx.data());
    kernels::convolve_weights_reference(c, x.data(), dy.data(), dw.data());
    std::optional<Results> first;
    for (const int threads : {1, 2, 3}) {
      const Threads team(threads);
      const Results r = results_of(p, forward, data, weights);
      if (!first) {
        check_close(r.y, y, c.group_in() * c.taps(), error);
        check_close(r.dx, dx, c.group_out() * c.taps(), error);
        check_close(r.dw, dw, c.batch * c.output_positions(), error);
        first = r;
      }
      CHECK(r.y == first->y);
      CHECK(r.dx == first->dx);
      CHECK(r.dw == first->dw);
    }
  }
}

}  // namespace

TEST_CASE("convolutions and their gradients match the reference on any number of threads") {
  check_by(convolve, convolve_data, convolve_weights);
}

TEST_CASE("convolutions by matrix products match the reference") {
  check_by(convolve_by_product, convolve_data_by_product, convolve_weights_by_product);
}

TEST_CASE("Winograd convolutions match the reference") {
  check_by(convolve_by_winograd, convolve_data_by_winograd, convolve_weights_by_winograd, 4,
           has_winograd);
}

TEST_CASE("cached packed weights give bit-identical convolutions") {
  for (const Convolution& c : cases()) {
    const Problem p(c);
    std::vector<float> once(p.dy.size()), again(p.dy.size());
    convolve(c, p.x.data(), p.w.data(), p.b.data(), once.data());
    const PackedWeightCache kept;
    for (const int threads : {1, 1, 1, 2, 1}) {
      const Threads team(threads);
      kept.convolve(c, p.x.data(), p.w.data(), p.b.data(), again.data());
      CHECK(again == once);
    }
    // Another batch with the same weights.
    Convolution half = c;
    half.batch = 1;
    kept.convolve(half, p.x.data(), p.w.data(), nullptr, again.data());
    convolve(half, p.x.data(), p.w.data(), nullptr, once.data());
    CHECK(again == once);
  }
}

TEST_CASE("the reference convolution matches values computed by hand") {
  // x = 1 2 3 4, w = 1 10, a step of 2, one element of padding before.
  const Convolution c = of(1, 1, 1, {1, 1, 4}, {1, 1, 2}, {1, 1, 2}, {0, 0, 1}, {0, 0, 1});
  const double x[] = {1, 2, 3, 4}, w[] = {1, 10}, b[] = {0.5}, dy[] = {1, 2, 4};
  double y[3], dx[4], dw[2];
  REQUIRE(c.result[2] == 3);
  kernels::convolve_reference(c, x, w, b, y);
  CHECK(std::vector<double>(y, y + 3) == std::vector<double>{10.5, 32.5, 4.5});
  kernels::convolve_data_reference(c, dy, w, dx);
  CHECK(std::vector<double>(dx, dx + 4) == std::vector<double>{10, 2, 20, 4});
  kernels::convolve_weights_reference(c, x, dy, dw);
  CHECK(std::vector<double>(dw, dw + 2) == std::vector<double>{20, 7});
}
