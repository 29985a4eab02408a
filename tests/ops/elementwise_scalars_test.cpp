// SPDX-License-Identifier: Apache-2.0
// Elementwise operators on single values as ONNX defines them: NaN, infinities, integers, halves.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

#include "libsten/compute/ops/elementwise/elementwise.h"
#include "libsten/core/layout/compressed.h"
#include "tests/ops/operands.h"
#include "tests/support/warnings.h"

using namespace sten;
using namespace sten::testing;

namespace {

constexpr float nan_value = std::numeric_limits<float>::quiet_NaN(),
                infinity = std::numeric_limits<float>::infinity();

Tensor floats_of(const std::vector<float>& v) { return f32({std::ssize(v)}, v); }
Tensor of_integers(const std::vector<std::int64_t>& v, DType dtype = DType::I64) {
  return dtype == DType::I64 ? int64s(v) : cast(int64s(v), dtype);
}
std::vector<std::int64_t> integers(const Tensor& x) {
  const Tensor wide = cast(x, DType::I64);
  const auto v = wide.values()->as<std::int64_t>();
  return {v.begin(), v.end()};
}
std::vector<float> numbers(const Tensor& x) { return floats(cast(x, DType::F32).to_dense()); }

// NaN in the same elements, and equal values elsewhere.
void check_same(const Tensor& got, const std::vector<float>& wanted) {
  const std::vector<float> v = numbers(got);
  REQUIRE(v.size() == wanted.size());
  for (std::size_t i = 0; i < v.size(); ++i) {
    CAPTURE(i);
    if (std::isnan(wanted[i]))
      CHECK(std::isnan(v[i]));
    else
      CHECK(v[i] == wanted[i]);
  }
}

using Integers = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("min, max, clip, sign and piecewise functions propagate NaN") {
  const Tensor a = floats_of({1, nan_value, 1, infinity}),
               b = floats_of({nan_value, 1, 2, -infinity});
  check_same(min(a, b), {nan_value, nan_value, 1, -infinity});
  check_same(max(a, b), {nan_value, nan_value, 2, infinity});
  const Tensor x = floats_of({nan_value, -infinity, infinity, -0.5f});
  check_same(clip(x, -1, 1), {nan_value, -1, 1, -0.5f});
  check_same(clip(x, 1, -1), {nan_value, -1, -1, -1});
  check_same(sign(x), {nan_value, -1, 1, -1});
  check_same(abs(x), {nan_value, infinity, infinity, 0.5f});
  check_same(leaky_relu(x, 0.5), {nan_value, -infinity, infinity, -0.25f});
  check_same(hard_sigmoid(x), {nan_value, 0, 1, 0.4f});
  check_same(hard_swish(x), {nan_value, 0, infinity, -0.5f * (0.5f - 0.5f / 6)});
  check_same(softplus(floats_of({nan_value, -infinity, infinity, 1000})),
             {nan_value, 0, infinity, 1000});
  check_same(elu(floats_of({nan_value, -infinity, infinity}), 2), {nan_value, -2, infinity});
}

TEST_CASE("round breaks ties to even, floor rounds down and ceil rounds up") {
  check_same(round(floats_of({-2.5f, -1.5f, -0.5f, 0.5f, 1.5f, 2.5f, 2.6f, infinity})),
             {-2, -2, 0, 0, 2, 2, 3, infinity});
  check_same(floor(floats_of({-1.5f, 1.5f, -infinity})), {-2, 1, -infinity});
  check_same(ceil(floats_of({-1.5f, 1.5f, nan_value})), {-1, 2, nan_value});
}

TEST_CASE("float operators return NaN or infinity outside their domain") {
  check_same(div(floats_of({1, -1, 0, 1}), floats_of({0, 0, 0, infinity})),
             {infinity, -infinity, nan_value, 0});
  check_same(pow(floats_of({-8, 0, nan_value, 2}), floats_of({0.5f, -1, 0, infinity})),
             {nan_value, infinity, 1, infinity});
  check_same(sqrt(floats_of({-1, 0, 4, infinity})), {nan_value, 0, 2, infinity});
  check_same(log(floats_of({-1, 0, 1, infinity})), {nan_value, -infinity, 0, infinity});
  check_same(exp(floats_of({-infinity, 0, 1000})), {0, 1, infinity});
  check_same(reciprocal(floats_of({0, 4, -infinity})), {infinity, 0.25f, 0});
  check_same(erf(floats_of({-infinity, 0, infinity})), {-1, 0, 1});
}

TEST_CASE("integer division truncates towards zero, and integer overflow wraps") {
  const Tensor a = of_integers({7, -7, 7, -7, 0}), b = of_integers({2, 2, -2, -2, 5});
  CHECK(integers(div(a, b)) == Integers{3, -3, -3, 3, 0});
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min(), most = ~least;
  CHECK(integers(div(of_integers({least}), of_integers({-1}))) == Integers{least});
  CHECK(integers(add(of_integers({most}), of_integers({1}))) == Integers{least});
  CHECK(integers(neg(of_integers({least, 3}))) == Integers{least, -3});
  CHECK(integers(abs(of_integers({-3, 3, 0}))) == Integers{3, 3, 0});
  CHECK(integers(sign(of_integers({-3, 3, 0}))) == Integers{-1, 1, 0});
  CHECK(integers(mul(of_integers({200, 3}, DType::U8), of_integers({2, 5}, DType::U8))) ==
        Integers{144, 15});
  CHECK(integers(sub(of_integers({1}, DType::U8), of_integers({2}, DType::U8))) == Integers{255});
  CHECK(integers(max(of_integers({-3, 4}, DType::I32), of_integers({-4, 5}, DType::I32))) ==
        Integers{-3, 5});
  CHECK(min(of_integers({1}, DType::U16), of_integers({2}, DType::U16)).dtype() == DType::U16);
  CHECK(error_of([&] { div(a, of_integers({0})); }) == "div: integer division by 0");
}

TEST_CASE("powers have the dtype of the base") {
  CHECK(integers(pow(of_integers({2, -3, 0, 1, -1, 5}), of_integers({10, 3, 0, -4, -3, -1}))) ==
        Integers{1024, -27, 1, 1, -1, 0});
  CHECK(error_of([] { pow(of_integers({0}), of_integers({-1})); }) ==
        "pow: integer 0 raised to the negative exponent -1");
  const Tensor of_float = pow(floats_of({1, 2, 3}), of_integers({4, 5, 2}, DType::I32));
  CHECK(of_float.dtype() == DType::F32);
  CHECK(numbers(of_float) == std::vector<float>{1, 32, 9});
  const Tensor of_integer = pow(of_integers({1, 2, 3}, DType::I32), floats_of({4, 0.5f, 2}));
  CHECK(of_integer.dtype() == DType::I32);
  CHECK(integers(of_integer) == Integers{1, 1, 9});
}

TEST_CASE("F16 and BF16 operators compute in F32 and round the result") {
  for (const DType t : {DType::F16, DType::BF16}) {
    const Tensor a = cast(floats_of({1.5f, -3, 1000}), t), b = cast(floats_of({2, 4, 1}), t);
    const Tensor sum = add(a, b);
    CHECK(sum.dtype() == t);
    CHECK(numbers(sum) == numbers(cast(floats_of({3.5f, 1, 1001}), t)));
    CHECK(numbers(max(a, b)) == numbers(cast(floats_of({2, 4, 1000}), t)));
    CHECK(numbers(abs(a)) == numbers(cast(floats_of({1.5f, 3, 1000}), t)));
    CHECK(integers(less(a, b)) == Integers{1, 1, 0});
  }
}

TEST_CASE("comparisons return BOOL, and every comparison with NaN is false") {
  const Tensor a = floats_of({1, 2, 3, nan_value, infinity}),
               b = floats_of({2, 2, 2, nan_value, infinity});
  CHECK(equal(a, b).dtype() == DType::BOOL);
  CHECK(integers(equal(a, b)) == Integers{0, 1, 0, 0, 1});
  CHECK(integers(less(a, b)) == Integers{1, 0, 0, 0, 0});
  CHECK(integers(less_or_equal(a, b)) == Integers{1, 1, 0, 0, 1});
  CHECK(integers(greater(a, b)) == Integers{0, 0, 1, 0, 0});
  CHECK(integers(greater_or_equal(a, b)) == Integers{0, 1, 1, 0, 1});
  // Integers that float cannot represent.
  constexpr std::int64_t large = (std::int64_t{1} << 60) + 1;
  CHECK(integers(equal(of_integers({large}), of_integers({large - 1}))) == Integers{0});
  CHECK(integers(greater(of_integers({large}), of_integers({large - 1}))) == Integers{1});
  const Tensor p = of_integers({0, 0, 1, 1}, DType::BOOL),
               q = of_integers({0, 1, 0, 1}, DType::BOOL);
  CHECK(integers(equal(p, q)) == Integers{1, 0, 0, 1});
  CHECK(error_of([&] { less(a, p); }) == "less: a is F32 but b is BOOL");
  CHECK(error_of([&] {
          less(a, Tensor(f32({2}, {1, 2})));
        }) == "less: a is [5] but b is [2], which cannot be broadcast together");
}

TEST_CASE("logical operators require BOOL tensors and broadcast them") {
  const Tensor p = of_integers({0, 0, 1, 1}, DType::BOOL),
               q = of_integers({0, 1, 0, 1}, DType::BOOL);
  CHECK(integers(logical_and(p, q)) == Integers{0, 0, 0, 1});
  CHECK(integers(logical_or(p, q)) == Integers{0, 1, 1, 1});
  CHECK(integers(logical_xor(p, q)) == Integers{0, 1, 1, 0});
  CHECK(integers(logical_not(p)) == Integers{1, 1, 0, 0});
  CHECK(logical_and(reshape(p, {4, 1}), q).shape() == Shape{4, 4});
  CHECK(error_of([&] { logical_or(p, of_integers({1})); }) == "or: b must be BOOL, got I64");
  CHECK(error_of([&] { logical_not(floats_of({1})); }) == "not: x must be BOOL, got F32");
  CHECK(error_of([&] { add(p, q); }) == "add: BOOL elements do not support arithmetic");
}

TEST_CASE("where broadcasts its three operands and selects elements of any dtype") {
  const Tensor c = reshape(of_integers({1, 0}, DType::BOOL), {2, 1});
  const Tensor chosen = where(c, of_integers({1, 2, 3}), of_integers({9}));
  CHECK(chosen.shape() == Shape{2, 3});
  CHECK(integers(chosen) == Integers{1, 2, 3, 9, 9, 9});
  // The unselected value can be NaN.
  check_same(where(of_integers({1, 0, 1}, DType::BOOL), floats_of({1, nan_value, infinity}),
                   floats_of({nan_value, 2, 3})),
             {1, 2, infinity});
  for (const DType t : {DType::BOOL, DType::F16, DType::F64})
    CHECK(where(c, cast(floats_of({1}), t), cast(floats_of({0}), t)).dtype() == t);
  CHECK(error_of([&] { where(of_integers({1}), c, c); }) ==
        "where: the condition must be BOOL, got I64");
  CHECK(error_of([&] {
          where(c, floats_of({1, 2}), floats_of({1, 2, 3}));
        }) == "where: x is [2] but y is [3], which cannot be broadcast together");
  CHECK(error_of([&] {
          where(of_integers({1, 0}, DType::BOOL), floats_of({1, 2, 3}), floats_of({1}));
        }) ==
        "where: the condition is [2] but the choice is [3], which cannot be broadcast together");
}

TEST_CASE("cast rounds to the nearest float and truncates to integers") {
  CHECK(integers(cast(floats_of({-1.9f, 1.9f, 300, -1}), DType::U8)) == Integers{255, 1, 44, 255});
  CHECK(integers(floats_of({nan_value, infinity, -infinity})) ==
        Integers{0, std::numeric_limits<std::int64_t>::max(),
                 std::numeric_limits<std::int64_t>::min()});
  CHECK(integers(cast(floats_of({0, -0.0f, 0.5f, nan_value}), DType::BOOL)) ==
        Integers{0, 0, 1, 1});
  const auto halves = [](DType t, float v) {
    const Tensor x = cast(floats_of({v}), t);
    return x.values()->as<std::uint16_t>()[0];
  };
  // 1 + 2^-11 is a tie of 1 and 1 + 2^-10; then the largest value, overflow, the least value, and
  // half of it.
  CHECK(halves(DType::F16, 1 + 1.0f / 2048) == 0x3c00);
  CHECK(halves(DType::F16, 1 + 3.0f / 2048) == 0x3c02);
  CHECK(halves(DType::F16, -65504) == 0xfbff);
  CHECK(halves(DType::F16, 65520) == 0x7c00);
  CHECK(halves(DType::F16, 65519.996f) == 0x7bff);
  CHECK(halves(DType::F16, 0x1p-24f) == 1);
  CHECK(halves(DType::F16, 0x1p-25f) == 0);
  CHECK(halves(DType::F16, 0x1.8p-25f) == 1);
  CHECK(halves(DType::F16, -infinity) == 0xfc00);
  CHECK(halves(DType::BF16, 1 + 1.0f / 256) == 0x3f80);
  CHECK(halves(DType::BF16, 1 + 3.0f / 256) == 0x3f82);
  CHECK(halves(DType::BF16, std::numeric_limits<float>::max()) == 0x7f80);
  CHECK(halves(DType::BF16, 0x1p-133f) == 1);
  CHECK(std::isnan(numbers(cast(floats_of({nan_value}), DType::F16))[0]));
  CHECK(std::isnan(numbers(cast(floats_of({nan_value}), DType::BF16))[0]));
  // Every 16-bit pattern survives the round trip.
  Dense all = Dense::zeros(DType::F16, {65536});
  for (Index i = 0; i < all.size(); ++i)
    all.values.mutate<std::uint16_t>()[i] = static_cast<std::uint16_t>(i);
  for (const DType t : {DType::F16, DType::BF16}) {
    const Tensor x = Dense{all.extents, Values(t, all.values.bytes())};
    const Tensor y = cast(cast(x, DType::F64), t);
    const auto a = x.values()->as<std::uint16_t>(), b = y.values()->as<std::uint16_t>();
    const std::vector<float> v = numbers(x);
    Index other = 0;
    for (Index i = 0; i < all.size(); ++i) other += a[i] != b[i] && !std::isnan(v[i]);
    CHECK(other == 0);
  }
  CHECK(error_of([] { cast(floats_of({1}), DType::F8_E4M3); }) ==
        "cast: F8_E4M3 elements do not support arithmetic");
  CHECK(error_of([] { apply("cast", {floats_of({1})}); }) ==
        "cast: unknown dtype '' of the attribute 'to'");
}

TEST_CASE("the gradient of cast has the dtype of its input, and integer results have none") {
  Tape tape;
  const Var x = tape.parameter(floats_of({1, 2.5f}));
  tape.backward(cast(x, DType::F64), cast(floats_of({3, 4}), DType::F64));
  CHECK(x.grad()->dtype() == DType::F32);
  CHECK(numbers(*x.grad()) == std::vector<float>{3, 4});
  CHECK_FALSE(cast(x, DType::I64).wants_grad());
  CHECK_FALSE(less(x, x).wants_grad());
  // where() with a comparison of a variable.
  Tape second;
  const Var y = second.parameter(floats_of({-1, 2}));
  second.backward(where(less(y, Var(floats_of({0}))), neg(y), scale(y, 3)), floats_of({1, 1}));
  CHECK(numbers(*y.grad()) == std::vector<float>{-1, 3});
}

TEST_CASE("zero-preserving operators keep a sparse layout; exp falls back to dense") {
  const Tensor x = f32({2, 4}, {0, 2, 0, 3, 1, 0, 0, 0.25f});
  const Tensor sparse = sparsify(x, KeepAll{}, Spec("csr"));
  const OutFormat csr = OutFormat::fused(KeepAll{}, Spec("csr"));
  std::vector<std::string> plans;
  Operators::log_plans(&plans);
  const Warnings warnings;
  const Tensor root = sqrt(sparse, csr), wide = cast(sparse, DType::F64, csr);
  const Tensor same = identity(sparse, csr), e = exp(sparse);
  Operators::log_plans(nullptr);
  CHECK(plans.at(0) == "sqrt(csr) -> keep-all/csr: exact");
  CHECK(plans.at(1) == "cast(csr) -> keep-all/csr: exact");
  CHECK(plans.at(2) == "identity(csr) -> keep-all/csr: exact");
  CHECK(has(plans.at(3), "exp(csr) -> keep-all/dense: no implementation for these layouts; dense"));
  CHECK(same_bits(root.to_dense(), sqrt(x).to_dense()));
  CHECK(wide.dtype() == DType::F64);
  CHECK(same_mask(wide.stored(), sparse.stored()));
  CHECK(same.values()->bytes().data() == sparse.values()->bytes().data());
  CHECK(same_bits(e.to_dense(), exp(x).to_dense()));
  CHECK(same_bits(div(x, sparse).to_dense(), div(x, x).to_dense()));
  CHECK(same_bits(less(sparse, x).to_dense(), less(x, x).to_dense()));
}

TEST_CASE("a csr tensor times or divided by a scalar keeps its positions unless zeros change") {
  const Tensor x = f32({2, 3}, {0, 2, 0, 3, 1, 0}), sparse = sparsify(x, KeepAll{}, Spec("csr"));
  const OutFormat csr = OutFormat::fused(KeepAll{}, Spec("csr"));
  const Warnings warnings;
  std::vector<std::string> plans;
  Operators::log_plans(&plans);
  const Tensor half = div(sparse, floats_of({2}), csr),
               twice = mul(sparse, Tensor(f32({}, {2})), csr);
  CHECK(plans == std::vector<std::string>{"div(csr, dense) -> keep-all/csr: exact",
                                          "mul(csr, dense) -> keep-all/csr: exact"});
  const Tensor over = div(sparse, floats_of({0}), csr),
               rows = mul(sparse, floats_of({1, 2, 3}), csr);
  Operators::log_plans(nullptr);
  CHECK(has(plans.back(), "mul: a sparse a of shape [2, 3] needs a scalar b, got [3]"));
  CHECK(same_mask(half.stored(), sparse.stored()));
  check_same(half.to_dense(), {0, 1, 0, 1.5f, 0.5f, 0});
  check_same(twice.to_dense(), {0, 4, 0, 6, 2, 0});
  check_same(over.to_dense(), {nan_value, infinity, nan_value, infinity, infinity, nan_value});
  check_same(rows.to_dense(), {0, 4, 0, 3, 2, 0});
}

TEST_CASE("is-nan and is-inf classify NaN and infinities") {
  const Tensor x = floats_of({nan_value, infinity, -infinity, 3});
  CHECK(integers(apply("is-nan", {x})) == Integers{1, 0, 0, 0});
  CHECK(integers(apply("is-inf", {x})) == Integers{0, 1, 1, 0});
  CHECK(integers(apply("is-inf", {x}, Attributes().set("detect-negative", 0))) ==
        Integers{0, 1, 0, 0});
  CHECK(integers(apply("is-inf", {cast(x, DType::F16)}, Attributes().set("detect-positive", 0))) ==
        Integers{0, 0, 1, 0});
  CHECK(apply("is-nan", {x}).dtype() == DType::BOOL);
  CHECK(error_of([] { apply("is-nan", {of_integers({1})}); }) ==
        "is-nan: elements must be F32 or F64, got I64");
}

TEST_CASE("mod has the sign of the divisor, and with fmod=1 the sign of the dividend") {
  const Integers a{-4, 7, 5, 4, -7, 8, INT64_MIN}, b{2, -3, 8, -2, 3, 5, -1};
  const Attributes fmod = Attributes().set("fmod", 1);
  CHECK(integers(apply("mod", {of_integers(a), of_integers(b)})) == Integers{0, -2, 5, 0, 2, 3, 0});
  CHECK(integers(apply("mod", {of_integers(a), of_integers(b)}, fmod)) ==
        Integers{0, 1, 5, 0, -1, 3, 0});
  CHECK(integers(apply("mod", {of_integers({200}, DType::U8), of_integers({7}, DType::U8)})) ==
        Integers{4});
  const auto mod_u64 = [](std::int64_t a) {
    return integers(apply("mod", {of_integers({a}, DType::U64), of_integers({7}, DType::U64)}));
  };
  CHECK(mod_u64(200) == Integers{4});
  CHECK(error_of([&] { mod_u64(-1); }) ==
        "mod: the U64 element 18446744073709551615 is above the largest I64 value");
  const Tensor x = floats_of({-4.25f, 7, 5.5f, 1}), y = floats_of({2, -3, 8, 0});
  check_same(apply("mod", {x, y}, fmod), {-0.25f, 1, 5.5f, nan_value});
  check_same(apply("mod", {x, y}), {1.75f, -2, 5.5f, nan_value});
  CHECK(error_of([] {
          apply("mod", {of_integers({1}), of_integers({0})});
        }) == "mod: integer division by 0");
}

TEST_CASE("bit-shift drops the bits that are shifted out") {
  const auto shifted = [](const Integers& a, const Integers& b, const char* direction, DType t) {
    return integers(apply("bit-shift", {of_integers(a, t), of_integers(b, t)},
                          Attributes().set("direction", std::string(direction))));
  };
  CHECK(shifted({16, 255, 1}, {1, 4, 9}, "left", DType::U8) == Integers{32, 240, 0});
  CHECK(shifted({16, 255, 1}, {1, 4, 9}, "right", DType::U8) == Integers{8, 15, 0});
  CHECK(shifted({-1}, {63}, "right", DType::U64) == Integers{1});
  CHECK(shifted({-1, 1}, {64, 63}, "left", DType::U64) == Integers{0, INT64_MIN});
  CHECK(error_of([&] { shifted({1}, {1}, "left", DType::I32); }) ==
        "bit-shift: elements must be U8, U16, U32 or U64, got I32");
  CHECK(error_of([&] { shifted({1}, {1}, "up", DType::U8); }) ==
        "bit-shift: unknown direction 'up' (expected left or right)");
}

TEST_CASE("p-relu broadcasts its slope and accepts integers") {
  check_same(apply("p-relu", {floats_of({-2, 3, nan_value}), floats_of({0.5f})}),
             {-1, 3, nan_value});
  CHECK(integers(apply("p-relu", {of_integers({-2, 3}), of_integers({3, 3})})) == Integers{-6, 3});
}
