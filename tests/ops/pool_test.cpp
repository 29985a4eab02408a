// SPDX-License-Identifier: Apache-2.0
// Edge cases of pooling and other image operators; tests/autograd/pytorch_images_test.cpp compares
// them with PyTorch.
#include <doctest/doctest.h>

#include <limits>

#include "libsten/compute/ops/images/images.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

using Numbers = std::vector<float>;
using List = Attributes::List;

Numbers numbers_in(const Tensor& x) {
  const Dense d = x.to_dense();
  const auto v = d.values.as<float>();
  return {v.begin(), v.end()};
}
Tensor line(const Numbers& v) {
  Dense x = Dense::zeros(DType::F32, {1, std::ssize(v), 1});
  std::ranges::copy(v, x.values.mutate<float>().begin());
  return x;
}
// The gradient of x if the gradient of the result is 1, 2, 3, ...
Numbers numbered_grad(const Tensor& x, Name op, const Attributes& a) {
  Tape tape;
  const Var p = tape.parameter(x);
  const Var y = apply(op, {p}, a);
  Dense dy = Dense::zeros(DType::F32, y.shape());
  for (Index i = 0; i < dy.size(); ++i) dy.values.mutate<float>()[i] = static_cast<float>(i + 1);
  tape.backward(y, dy);
  return numbers_in(*p.grad());
}
Attributes window(Index kernel, Index stride) {
  return Attributes().set("kernel", List{kernel}).set("strides", List{stride});
}
constexpr float infinite = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

}  // namespace

TEST_CASE("max-pool takes the first of equal elements and treats NaN as the largest") {
  CHECK(numbered_grad(line({1, 1, 1, 1}), "max-pool", window(2, 1)) == Numbers{1, 2, 3, 0});
  CHECK(numbered_grad(line({-infinite, -infinite}), "max-pool", window(2, 1)) == Numbers{1, 0});
  const Numbers y = numbers_in(max_pool(line({infinite, not_a_number, 3, 4}), window(2, 1)));
  CHECK(y[0] != y[0]);
  CHECK(y[1] != y[1]);
  CHECK(y[2] == 4);
  CHECK(numbered_grad(line({infinite, not_a_number, 3, 4}), "max-pool", window(2, 1)) ==
        Numbers{0, 3, 0, 3});
  CHECK(numbered_grad(line({2, 5, 5, 1}), "adaptive-max-pool", Attributes().set("size", List{1})) ==
        Numbers{0, 1, 0, 0});
}

TEST_CASE("with ceil, the last pooling window starts in x or in the padding before it") {
  const Tensor x = line({1, 2, 3, 4, 5});
  CHECK(numbers_in(max_pool(x, window(2, 2))) == Numbers{2, 4});
  CHECK(numbers_in(max_pool(x, window(2, 2).set("ceil", 1))) == Numbers{2, 4, 5});
  // A third window would start after x, in the padding.
  const Attributes padded = window(2, 3).set("pads", List{1, 1}).set("ceil", 1);
  CHECK(numbers_in(max_pool(x, padded)) == Numbers{1, 4});
  // The last window counts its one element of padding, but nothing beyond it.
  const Attributes mean = window(3, 3).set("pads", List{0, 1}).set("ceil", 1);
  CHECK(numbers_in(average_pool(line({3, 3, 3, 6}), mean)) == Numbers{3, 6});
  CHECK(numbers_in(average_pool(line({3, 3, 3, 6}), Attributes(mean).set("count-pads", 1))) ==
        Numbers{3, 3});
}

TEST_CASE("a pooling window entirely in padding gives -infinity or 0 and passes no gradient") {
  const Attributes a = window(1, 1).set("pads", List{1, 0});
  CHECK(numbers_in(max_pool(line({5, 6}), a)) == Numbers{-infinite, 5, 6});
  CHECK(numbers_in(average_pool(line({5, 6}), a)) == Numbers{0, 5, 6});
  CHECK(numbered_grad(line({5, 6}), "max-pool", a) == Numbers{2, 3});
  CHECK(numbered_grad(line({5, 6}), "average-pool", a) == Numbers{2, 3});
}

TEST_CASE(
    "adaptive pooling windows overlap for indivisible sizes and repeat elements to upsample") {
  const Tensor x = line({1, 2, 3, 4, 6});
  CHECK(numbers_in(adaptive_average_pool(x, {2})) == Numbers{2, 13.0f / 3});
  CHECK(numbers_in(adaptive_max_pool(line({1, 2}), {4})) == Numbers{1, 1, 2, 2});
  CHECK(numbered_grad(line({1, 2}), "adaptive-average-pool", Attributes().set("size", List{4})) ==
        Numbers{3, 7});
}

TEST_CASE("pooling an empty batch gives an empty result and gradient") {
  Tape tape;
  const Var x = tape.parameter(Dense::zeros(DType::F32, {0, 4, 4, 3}));
  const Var y = max_pool(x, Attributes().set("kernel", List{2, 2}));
  CHECK(y.shape() == Shape{0, 3, 3, 3});
  tape.backward(y, Tensor(Dense::zeros(DType::F32, y.shape())));
  CHECK(x.grad()->shape() == x.shape());
}

TEST_CASE("pooling rejects invalid kernels, sizes, attributes and shapes") {
  const Tensor x = Dense::zeros(DType::F32, {1, 4, 4, 2});
  const auto error = [&](const Attributes& a) { return error_of([&] { max_pool(x, a); }); };
  CHECK(error({}) == "max-pool: kernel is [0, 0]: expected 2 integers >= 1");
  CHECK(error(Attributes().set("kernel", List{2})) ==
        "max-pool: kernel is [2]: expected 2 integers >= 1");
  CHECK(error(Attributes().set("kernel", List{5, 1})) ==
        "max-pool: x is [1, 4, 4, 2], the kernel [5, 1], padding [0, 0, 0, 0]: the window does not "
        "fit axis 1");
  CHECK(has(error(Attributes().set("kernel", List{1, 1}).set("count-pads", 1)), "count-pads"));
  CHECK(has(error_of([&] { adaptive_max_pool(x, {0, 1}); }), "size is [0, 1]"));
  CHECK(has(error_of([&] { adaptive_max_pool(line({1}), {Index{1} << 40}); }), "size is"));
  CHECK(error_of([&] {
          max_pool(Tensor(Dense::zeros(DType::F32, {4, 4})), window(1, 1));
        }) == "max-pool: x must be [N, spatial..., C] with 1 to 3 spatial axes, got [4, 4]");
}

TEST_CASE("resize accepts sizes or scales, modes and coordinate transformations") {
  const Tensor x = line({1, 2, 3, 4});
  const auto to = [&](const Attributes& a) { return numbers_in(resize(x, a)); };
  CHECK(to(Attributes().set("size", List{2})) == Numbers{1, 3});
  CHECK(to(Attributes().set("size", List{2}).set("nearest", "ceil")) == Numbers{2, 4});
  CHECK(
      to(Attributes().set("scales", 2).set("coordinates", "asymmetric").set("nearest", "floor")) ==
      Numbers{1, 1, 2, 2, 3, 3, 4, 4});
  CHECK(to(Attributes().set("scales", 0.5).set("mode", "linear")) == Numbers{1.5, 3.5});
  CHECK(to(Attributes()
               .set("size", List{7})
               .set("mode", "linear")
               .set("coordinates", "align-corners")) == Numbers{1, 1.5, 2, 2.5, 3, 3.5, 4});
  const auto error = [&](const Attributes& a) { return error_of([&] { resize(x, a); }); };
  CHECK(error({}) == "resize: size [] does not fit x [1, 4, 1]");
  CHECK(error(Attributes().set("scales", "2,2")) == "resize: scales '2,2' must have 1 numbers");
  CHECK(error(Attributes().set("scales", "two")) ==
        "resize: scales must be numbers separated by commas, got 'two'");
  CHECK(error(Attributes().set("scales", 0.1)) == "resize: the extent 4 of x cannot become 0");
  CHECK(error(Attributes().set("scales", not_a_number)) ==
        "resize: the extent 4 of x cannot become nan");
  CHECK(error(Attributes().set("scales", 1).set("mode", "lanczos")) ==
        "resize: unknown mode 'lanczos'");
}

TEST_CASE("group-norm of constant groups gives beta") {
  const Tensor x = Tensor(Dense::of({2, 1, 2}, {2, 2, -8, -8}));
  const Tensor gamma = Tensor(Dense::of({2}, {1, 2})), beta = Tensor(Dense::of({2}, {0, 3}));
  CHECK(numbers_in(group_norm(x, gamma, beta, 1)) == Numbers{0, 3, 0, 3});
  CHECK(has(error_of([&] { group_norm(x, gamma, beta, 3); }), "are not divisible by 3 groups"));
}

TEST_CASE("max-pool-indices count channels first, in row-major or column-major order") {
  // Two images of 2 x 4 pixels and 2 channels; the second channel is the first one from the back.
  Dense x = Dense::zeros(DType::F32, {2, 2, 4, 2});
  const auto v = x.values.mutate<float>();
  for (Index p = 0; p < 16; ++p) {
    v[2 * p] = static_cast<float>(p % 8);
    v[2 * p + 1] = static_cast<float>(-(p % 8));
  }
  Attributes a = Attributes().set("kernel", List{2, 2}).set("strides", List{2, 2});
  const auto indices = [&] {
    const Dense y = apply("max-pool-indices", {x}, a).to_dense();
    CHECK(y.extents == Shape{2, 1, 2, 2});
    const auto at = y.values.as<std::int64_t>();
    return std::vector<Index>(at.begin(), at.end());
  };
  // [image, column, channel]: the last pixel of each window, and the first.
  CHECK(indices() == std::vector<Index>{5, 8, 7, 10, 21, 24, 23, 26});
  a.set("column-major", 1);
  CHECK(indices() == std::vector<Index>{3, 8, 7, 12, 19, 24, 23, 28});
}
