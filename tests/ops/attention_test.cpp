// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cmath>

#include "libsten/compute/ops/common/operators.h"
#include "libsten/compute/ops/elementwise/elementwise.h"
#include "tests/ops/operands.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

// Attention from primitive operators; hidden keys get a score far below all others.
template <Operand T>
T composed(const T& q, const T& k, const T& v, const std::type_identity_t<T>& hidden, Index heads) {
  const Shape s = q.shape();
  const auto split = [&](const T& x) {
    return transpose(reshape(x, {s[0], -1, heads, s[2] / heads}), {0, 2, 1, 3});
  };
  const T scores = scale(matmul(split(q), transpose(split(k))),
                         1 / std::sqrt(static_cast<double>(s[2] / heads)));
  const T context = matmul(softmax(add(scores, hidden)), split(v));
  return reshape(transpose(context, {0, 2, 1, 3}), s);
}

// Hidden keys as a bias and as a mask.
struct Hidden {
  Tensor scores, mask;
};
Hidden last_hidden(Index batch, Index keys, Index from) {
  Dense scores = Dense::zeros(DType::F32, {batch, 1, 1, keys});
  Dense mask = Dense::zeros(DType::I64, {batch, keys});
  for (Index b = 0; b < batch; ++b)
    for (Index s = 0; s < keys; ++s) {
      const bool is_seen = b % 2 == 0 || s < from;
      scores.values.mutate<float>()[b * keys + s] = is_seen ? 0.0f : -1e30f;
      mask.values.mutate<std::int64_t>()[b * keys + s] = is_seen;
    }
  return {scores, mask};
}

double furthest(const Tensor& a, const Tensor& b) {
  const std::vector<float> x = floats(a.to_dense()), y = floats(b.to_dense());
  REQUIRE(a.shape() == b.shape());
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) worst = std::max(worst, std::abs(double{x[i]} - y[i]));
  return worst;
}

}  // namespace

TEST_CASE("attention and its gradients match a composition of basic operators") {
  Dice dice(5);
  for (const Index keys : {9, 21}) {
    const Index heads = 3;
    const Tensor q = normals(dice, {4, 9, 24}), k = normals(dice, {4, keys, 24}),
                 v = normals(dice, {4, keys, 24}), dy = normals(dice, {4, 9, 24});
    const Hidden hidden = last_hidden(4, keys, 6);
    Tape tape;
    const Var a[] = {tape.parameter(q), tape.parameter(k), tape.parameter(v)};
    const Var b[] = {tape.parameter(q), tape.parameter(k), tape.parameter(v)};
    const Var got = attention(a[0], a[1], a[2], hidden.mask, heads);
    const Var wanted = composed(b[0], b[1], b[2], hidden.scores, heads);
    CHECK(furthest(got.value(), wanted.value()) < 2e-6);
    tape.backward(got, dy, true);
    tape.backward(wanted, dy);
    for (const int i : {0, 1, 2}) CHECK(furthest(*a[i].grad(), *b[i].grad()) < 5e-6);
  }
}

TEST_CASE("a bias of any broadcastable shape is added to the scores and gets their gradient") {
  Dice dice(15);
  const Index heads = 3;
  const Tensor q = normals(dice, {2, 5, 12}), k = normals(dice, {2, 7, 12}),
               v = normals(dice, {2, 7, 12}), dy = normals(dice, {2, 5, 12});
  const std::vector<Shape> shapes{{2, 3, 5, 7}, {3, 1, 7}, {2, 1, 5, 1}, {5, 7}, {}};
  for (const Shape& shape : shapes) {
    CAPTURE(to_string(shape));
    // 40 tokens are computed in panels.
    const Tensor many = normals(dice, {2, 40, 12});
    Shape of_many = shape;
    if (shape.size() >= 2 && shape[shape.size() - 2] == 5) of_many[shape.size() - 2] = 40;
    const Tensor more = normals(dice, of_many);
    CHECK(furthest(attention(many, k, v, more, heads), composed(many, k, v, more, heads)) < 2e-6);
    const Tensor bias = normals(dice, shape);
    Tape tape;
    const auto leaves = [&] {
      return std::vector<Var>{tape.parameter(q), tape.parameter(k), tape.parameter(v),
                              tape.parameter(bias)};
    };
    const std::vector<Var> a = leaves(), b = leaves();
    const Var got = attention(a[0], a[1], a[2], a[3], heads);
    const Var wanted = composed(b[0], b[1], b[2], b[3], heads);
    CHECK(furthest(got.value(), wanted.value()) < 2e-6);
    tape.backward(got, dy, true);
    tape.backward(wanted, dy);
    for (const int i : {0, 1, 2, 3}) CHECK(furthest(*a[i].grad(), *b[i].grad()) < 1e-5);
    // Without the gradient of the bias, the other gradients are the same.
    Tape other;
    const Var p = other.parameter(q), y = attention(p, Var(k), Var(v), Var(bias), heads);
    other.backward(y, dy);
    CHECK(furthest(*p.grad(), *b[0].grad()) < 1e-5);
  }
}

TEST_CASE("a query with a bias of -inf on all keys has the result 0 and a gradient of 0") {
  Dice dice(17);
  for (const Index tokens : {5, 40}) {  // a head at a time, and in panels
    const Tensor q = normals(dice, {2, tokens, 12}), k = normals(dice, {2, 7, 12}),
                 v = normals(dice, {2, 7, 12}), dy = normals(dice, {2, tokens, 12});
    Dense none = Dense::zeros(DType::F32, {tokens, 7});
    std::fill_n(none.values.mutate<float>().begin() + 2 * 7, 7, -INFINITY);
    Tape tape;
    const Var leaves[] = {tape.parameter(q), tape.parameter(k), tape.parameter(v)};
    const Var got = attention(leaves[0], leaves[1], leaves[2], Var(Tensor(none)), 3);
    tape.backward(got, dy);
    const std::vector<float> y = floats(got.value().to_dense()),
                             dq = floats(leaves[0].grad()->to_dense());
    for (Index i = 0; i < std::ssize(y); ++i) {
      const bool is_hidden = i / 12 % tokens == 2;
      CHECK((y[i] == 0) == is_hidden);
      CHECK((dq[i] == 0) == is_hidden);
    }
    for (const Var& x : {leaves[1], leaves[2]})
      for (const float g : floats(x.grad()->to_dense())) CHECK(std::isfinite(g));
  }
}

TEST_CASE("attention accepts an explicit scale and values of another width") {
  Dice dice(16);
  const Tensor q = normals(dice, {2, 5, 12}), k = normals(dice, {2, 7, 12}),
               v = normals(dice, {2, 7, 12}), wide = concat(std::vector<Tensor>{v, v}, 2);
  // Two heads of 6 channels with scale 1 / sqrt(6), explicit and by default.
  const Attributes said = Attributes().set("heads", 2).set("scale", 1 / std::sqrt(6.0));
  CHECK(
      same_bits(apply("attention", {q, k, v}, said).to_dense(), attention(q, k, v, 2).to_dense()));
  const Tensor half = apply("attention", {q, k, v}, Attributes().set("heads", 2).set("scale", 0.5));
  CHECK(furthest(half, attention(scale(q, std::sqrt(6.0) / 2), k, v, 2)) < 2e-6);
  // One head's values beside themselves.
  const Tensor y = attention(q, k, v, 1);
  CHECK(furthest(attention(q, k, wide, 1), concat(std::vector<Tensor>{y, y}, 2)) == 0);
}

TEST_CASE("masked keys do not affect attention, however large they are, and get no gradient") {
  Dice dice(6);
  const Tensor q = normals(dice, {2, 5, 8}), k = normals(dice, {2, 5, 8});
  const Tensor v = normals(dice, {2, 5, 8}), mask = last_hidden(2, 5, 3).mask;
  const Tensor before = attention(q, k, v, mask, 2);
  const auto changed = [](const Tensor& x) {
    return Tensor::update(x, [](Values& values) {
      for (Index i = 0; i < 2 * 8; ++i) values.mutate<float>()[(5 + 3) * 8 + i] = 1e20f;
    });
  };
  const Tensor far_k = changed(k), far_v = changed(v);
  CHECK(same_bits(attention(q, far_k, far_v, mask, 2).to_dense(), before.to_dense()));
  CHECK(!same_bits(attention(q, k, far_v, 2).to_dense(), attention(q, k, v, 2).to_dense()));
  Tape tape;
  const Var keys = tape.parameter(k), values = tape.parameter(v);
  tape.backward(attention(Var(q), keys, values, mask, 2), normals(dice, {2, 5, 8}));
  for (const Var* x : {&keys, &values}) {
    const std::vector<float> g = floats(x->grad()->to_dense());
    CHECK(std::all_of(g.begin() + (5 + 3) * 8, g.end(), [](float f) { return f == 0; }));
    CHECK(std::any_of(g.begin() + 5 * 8, g.begin() + (5 + 3) * 8, [](float f) { return f != 0; }));
  }
}

TEST_CASE("attention without visible keys is 0 and its gradients are 0") {
  Dice dice(7);
  Tape tape;
  const Var q = tape.parameter(normals(dice, {1, 3, 4})), k = tape.parameter(q.value());
  const Var y = attention(q, k, k, Tensor(Dense::zeros(DType::I32, {1, 3})), 2);
  tape.backward(y, normals(dice, {1, 3, 4}));
  const std::vector<float> none(12);
  CHECK(floats(y.value().to_dense()) == none);
  CHECK(floats(q.grad()->to_dense()) == none);
  CHECK(floats(k.grad()->to_dense()) == none);
  // Also without any keys.
  const Tensor empty = Dense::zeros(DType::F32, {1, 0, 4});
  CHECK(floats(attention(q.value(), empty, empty, 2).to_dense()) == none);
}

namespace {

// One causal head by definition: query i of T sees key j <= S - T + i unless the mask hides it.
std::vector<double> causal_by_definition(const Tensor& q, const Tensor& k, const Tensor& v,
                                         const std::vector<float>& bias,
                                         const std::vector<bool>& seen) {
  const Index batch = q.shape()[0], tokens = q.shape()[1], width = q.shape()[2];
  const Index keys = k.shape()[1], v_width = v.shape()[2];
  const std::vector<float> a = floats(q.to_dense()), b = floats(k.to_dense()),
                           c = floats(v.to_dense());
  std::vector<double> y(batch * tokens * v_width);
  for (Index row = 0; row < batch * tokens; ++row) {
    const Index first = row / tokens * keys, i = row % tokens;
    double all = 0;
    for (Index j = 0; j < keys; ++j) {
      if (j > keys - tokens + i || (!seen.empty() && !seen[first + j])) continue;
      double score = 0;
      for (Index d = 0; d < width; ++d)
        score += double{a[row * width + d]} * b[(first + j) * width + d];
      score /= std::sqrt(static_cast<double>(width));
      if (!bias.empty()) score += bias[i * keys + j];
      all += std::exp(score);
      for (Index d = 0; d < v_width; ++d)
        y[row * v_width + d] += std::exp(score) * c[(first + j) * v_width + d];
    }
    for (Index d = 0; all > 0 && d < v_width; ++d) y[row * v_width + d] /= all;
  }
  return y;
}

template <class T>
double furthest_from(const std::vector<double>& wanted, const Tensor& got) {
  const Dense y = got.to_dense();
  REQUIRE(y.size() == std::ssize(wanted));
  double worst = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    worst = std::max(worst, std::abs(wanted[i] - double{y.values.as<T>()[i]}));
  return worst;
}

}  // namespace

TEST_CASE("causal attention matches its definition for any number of queries and keys") {
  Dice dice(8);
  // By matrix products, and in panels.
  struct Extents {
    Index tokens, keys;
  };
  for (const Extents e : std::vector<Extents>{
           {1, 1}, {1, 6}, {7, 7}, {5, 9}, {9, 5}, {64, 64}, {130, 130}, {40, 150}, {100, 30}}) {
    const Index tokens = e.tokens, keys = e.keys;
    CAPTURE(tokens);
    CAPTURE(keys);
    const Tensor q = normals(dice, {2, tokens, 6}), k = normals(dice, {2, keys, 6}),
                 v = normals(dice, {2, keys, 5}), bias = normals(dice, {tokens, keys});
    const Hidden hidden = last_hidden(2, keys, keys / 2);
    std::vector<bool> seen;
    for (const std::int64_t s : hidden.mask.as<Dense>().values.as<std::int64_t>())
      seen.push_back(s != 0);
    const Attributes causal = Attributes().set("causal", 1);
    const auto of = [&](std::vector<Tensor> in) { return apply("attention", in, causal); };
    const std::vector<double> plain = causal_by_definition(q, k, v, {}, {});
    CHECK(furthest_from<float>(plain, of({q, k, v})) < 2e-6);
    CHECK(furthest_from<float>(causal_by_definition(q, k, v, {}, seen),
                               of({q, k, v, hidden.mask})) < 2e-6);
    CHECK(furthest_from<float>(causal_by_definition(q, k, v, floats(bias.to_dense()), {}),
                               of({q, k, v, bias})) < 2e-6);
    const auto as_double = [](const Tensor& x) { return cast(x, DType::F64); };
    CHECK(furthest_from<double>(plain, of({as_double(q), as_double(k), as_double(v)})) < 1e-12);
  }
}

TEST_CASE("later tokens do not affect causal attention and get no gradient") {
  Dice dice(9);
  for (const Index tokens : {6, 80}) {
    const Tensor q = normals(dice, {1, tokens, 4}), k = normals(dice, {1, tokens, 4}),
                 v = normals(dice, {1, tokens, 4});
    const Attributes causal = Attributes().set("heads", 2).set("causal", 1);
    const auto first = [](const Tensor& x, Index n) { return slice(x, 1, 0, n); };
    const Tensor all = apply("attention", {q, k, v}, causal);
    for (const Index n : {Index{1}, tokens / 2})
      CHECK(furthest(first(all, n),
                     apply("attention", {first(q, n), first(k, n), first(v, n)}, causal)) < 1e-6);
    Tape tape;
    const Var keys = tape.parameter(k), values = tape.parameter(v);
    const Var y = apply("attention", {Var(q), keys, values}, causal);
    tape.backward(slice(y, 1, 0, 3), normals(dice, {1, 3, 4}));
    for (const Var* x : {&keys, &values}) {
      const std::vector<float> g = floats(x->grad()->to_dense());
      CHECK(std::all_of(g.begin() + 3 * 4, g.end(), [](float f) { return f == 0; }));
      CHECK(std::any_of(g.begin(), g.begin() + 3 * 4, [](float f) { return f != 0; }));
    }
  }
}

TEST_CASE("grouped-query attention and its gradients match repeated key and value heads") {
  Dice dice(10);
  const Attributes grouped = Attributes().set("heads", 6).set("kv_heads", 2).set("causal", 1);
  const Attributes plain = Attributes().set("heads", 6).set("causal", 1);
  // Heads of 4 channels: each of the 2 heads three times.
  const auto repeated = [](const auto& x) {
    const auto one = slice(x, 2, 0, 4), two = slice(x, 2, 4, 8);
    return concat(std::vector{one, one, one, two, two, two}, 2);
  };
  for (const Index tokens : {5, 70}) {
    CAPTURE(tokens);
    const Tensor q = normals(dice, {2, tokens, 24}), k = normals(dice, {2, tokens, 8}),
                 v = normals(dice, {2, tokens, 8}), dy = normals(dice, {2, tokens, 24});
    Tape a, b;
    const std::vector<Var> x{a.parameter(q), a.parameter(k), a.parameter(v)};
    const std::vector<Var> z{b.parameter(q), b.parameter(k), b.parameter(v)};
    const Var y = apply("attention", x, grouped);
    const Var wanted =
        apply("attention", std::vector<Var>{z[0], repeated(z[1]), repeated(z[2])}, plain);
    CHECK(furthest(y.value(), wanted.value()) < 2e-6);
    a.backward(y, dy);
    b.backward(wanted, dy);
    for (std::size_t i = 0; i < 3; ++i) {
      CAPTURE(i);
      CHECK(furthest(*x[i].grad(), *z[i].grad()) < 1e-5);
    }
  }
}

TEST_CASE("a window limits queries to their last keys, and a soft cap bounds scores") {
  // Scores 0 and values 1, 2, ...: the result is the mean of the visible values.
  const Tensor zeros = Dense::zeros(DType::F32, {1, 5, 1}), v = tensor({1, 5, 1}, {1, 2, 3, 4, 5});
  const Attributes two = Attributes().set("causal", 1).set("window", 2);
  CHECK(is(apply("attention", {zeros, zeros, v}, two), tensor({1, 5, 1}, {1, 1.5, 2.5, 3.5, 4.5})));
  // The last two queries of five.
  const Tensor last = Dense::zeros(DType::F32, {1, 2, 1});
  CHECK(is(apply("attention", {last, zeros, v}, two), tensor({1, 2, 1}, {3.5, 4.5})));
  // Scores 0 and 1000, capped to 0 and ln 3: weights 1 / 4 and 3 / 4.
  const Tensor q = tensor({1, 1, 1}, {1}), k = tensor({1, 2, 1}, {0, 1000}),
               w = tensor({1, 2, 1}, {0, 4});
  const Attributes cap = Attributes().set("soft_cap", std::log(3.0));
  CHECK(floats(apply("attention", {q, k, w}, cap).to_dense())[0] == doctest::Approx(3));
}

TEST_CASE("keys outside the windows of all queries are not read, for few and many queries") {
  Dice dice(1);
  constexpr Index keys = 400, window = 50;
  for (const DType dtype : {DType::F32, DType::F64})
    for (const Index tokens : {1, 3, 40, 200}) {
      CAPTURE(tokens);
      const Tensor q = cast(Tensor(normals(dice, {1, tokens, 8})), dtype);
      Dense k = normals(dice, {1, keys, 8}), v = normals(dice, {1, keys, 12});
      const auto attend = [&] {
        return apply("attention", {q, cast(Tensor(k), dtype), cast(Tensor(v), dtype)},
                     Attributes().set("causal", 1).set("heads", 2).set("window", window));
      };
      const Tensor y = attend();
      // Products read panels of 64 keys.
      const Index unseen = (keys - tokens + 1 - window) / 64 * 64;
      std::fill_n(k.values.mutate<float>().begin(), unseen * 8, std::nanf(""));
      std::fill_n(v.values.mutate<float>().begin(), unseen * 12, std::nanf(""));
      CHECK(is(attend(), y));
    }
}

TEST_CASE("attention rejects mismatched operands and invalid attributes") {
  const auto zeros = [](Shape s) { return Tensor(Dense::zeros(DType::F32, std::move(s))); };
  const auto error = [](auto&&... in) { return error_of([&] { attention(in...); }); };
  const Tensor q = zeros({2, 3, 8});
  CHECK(error(q, q, q, 3) == "attention: 8 channels are not divisible by 3 heads");
  CHECK(error(q, q, q, 0) == "attention: heads must be >= 1, got 0");
  CHECK(error(q, zeros({1, 3, 8}), zeros({1, 3, 8}), 2) ==
        "attention: q is [2, 3, 8] but k is [1, 3, 8]");
  CHECK(error(q, q, zeros({2, 4, 8}), 2) == "attention: k is [2, 3, 8] but v is [2, 4, 8]");
  CHECK(error(zeros({3, 8}), q, q, 2) ==
        "attention: q and k must be [batch, tokens, channels], got [3, 8] and [2, 3, 8]");
  CHECK(error(q, q, q, Tensor(Dense::zeros(DType::I64, {2, 4})), 2) ==
        "attention: k is [2, 3, 8] but the mask is [2, 4]");
  CHECK(error(q, q, q, Tensor(Dense::zeros(DType::U8, {2, 3})), 2) ==
        "attention: the mask's elements must be I64 or I32, got U8");
  CHECK(
      error(q, q, q, zeros({2, 3, 1, 3}), 2) ==
      "attention: the bias is [2, 3, 1, 3], which cannot be broadcast to the scores [2, 2, 3, 3]");
  CHECK(error(q, q, q, Tensor(Dense::zeros(DType::F64, {3, 3})), 2) ==
        "attention: q is F32 but the bias is F64");
  const auto with = [&](const char* name, auto value) {
    return error_of([&] {
      apply("attention", {q, q, q}, Attributes().set("heads", 4).set(name, value));
    });
  };
  CHECK(with("kv_heads", 3) == "attention: kv_heads must divide the 4 heads, got 3");
  CHECK(with("kv_heads", 2) == "attention: q is [2, 3, 8] but k is [2, 3, 8]");
  CHECK(with("soft_cap", -1.0) == "attention: soft_cap must be >= 0, got -1");
  CHECK(with("window", -1) == "attention: window must be >= 0, got -1");
  CHECK(with("window", 2) == "attention: a window needs causal=1, got window=2");
  CHECK(error(q, q, zeros({2, 3, 9}), 2) == "attention: 9 channels are not divisible by 2 heads");
}
