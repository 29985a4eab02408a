// SPDX-License-Identifier: Apache-2.0
// Products of backward passes, compared with double within the rounding bound of float32.
#include <doctest/doctest.h>

#include <cmath>

#include "libsten/compute/product/sampled_product.h"
#include "libsten/compute/product/sparse_product.h"
#include "tests/product/reference.h"
#include "tests/product/sparse_tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

Dense transposed(const Dense& x) {
  const Index rows = x.extents[0], cols = x.extents[1];
  Dense out = Dense::zeros(DType::F32, {cols, rows});
  for (Index r = 0; r < rows; ++r)
    for (Index c = 0; c < cols; ++c) out.values.put(c * rows + r, x.values, r * cols + c);
  return out;
}

struct Case {
  Spec spec;
  Index m, k, n;
  bool linear;
  Tensor a;

  Case(Dice& dice, int round)
      : spec(Spec::parse(sparse_specs[round % sparse_specs.size()])),
        m(dice.below(9) ? 1 + dice.below(dice.below(4) ? 60 : 300) : dice.below(3)),
        k(dice.below(9) ? 1 + dice.below(dice.below(4) ? 60 : 400) : dice.below(3)),
        n(dice.below(9) ? 1 + dice.below(dice.below(4) ? 60 : 150) : dice.below(3)),
        linear(dice.below(2)),
        a(sparse_tensor(dice, normals(dice, {m, k}), spec)) {}
  std::string str() const { return fmt::format("{} {} {} {} {}", spec.str(), m, k, n, linear); }
  // [features, n], or [n, features] if tokens are rows.
  Dense activations(Dice& dice, Index features) const {
    return normals(dice, linear ? Shape{n, features} : Shape{features, n});
  }
};

}  // namespace

TEST_CASE("transposed products of every layout are within the float32 rounding bound") {
  Dice dice(1);
  for (int round = 0; round < 200; ++round) {
    const Case it(dice, round);
    const Dense in = it.activations(dice, it.m);
    const Bounds bounds = product_bounds(it.linear, transposed(it.a.to_dense()), in, it.n);
    std::vector<float> first;
    for (const int team : {1, 2, 3}) {
      const Threads scope(team);
      std::vector<float> out(it.k * it.n + 1, 7.0f);
      (it.linear ? sparse_transposed_linear : sparse_transposed_gemm)(
          it.a, it.n, in.values.as<float>().data(), out.data());
      CHECK_MESSAGE(bounds.violations(out) == 0, it.str());
      CHECK(out.back() == 7.0f);
      if (team == 1) first = out;
      CHECK_MESSAGE(out == first, it.str(), ": threads change nothing");
    }
  }
}

TEST_CASE("sampled products of every layout match dense at stored positions and are 0 elsewhere") {
  Dice dice(2);
  for (int round = 0; round < 300; ++round) {
    const Case it(dice, round);
    const Dense dy = it.activations(dice, it.m), x = it.activations(dice, it.k);
    // [m, n] times [k, n]^T.
    const Dense left = it.linear ? transposed(dy) : dy, right = it.linear ? transposed(x) : x;
    const Bounds bounds = sampled_bounds(left, right);
    const Mask stored = it.a.stored();
    Dense first;
    for (const int team : {1, 2, 3, 7}) {
      const Threads scope(team);
      const Tensor got = (it.linear ? sampled_linear : sampled_gemm)(
          it.a, it.n, dy.values.as<float>().data(), x.values.as<float>().data());
      CHECK(got.save().layout == it.a.save().layout);
      CHECK(same_mask(got.stored(), stored));
      const Dense values = got.to_dense();
      Index wrong = 0;
      for (Index i = 0; i < values.size(); ++i) {
        const double off = values.values.as<float>()[i] - (stored[i] ? bounds.wanted[i] : 0);
        wrong += !(std::abs(off) <= (stored[i] ? bounds.most[i] : 0));
      }
      CHECK_MESSAGE(wrong == 0, it.str());
      if (team == 1) first = values;
      CHECK_MESSAGE(same_bits(values, first), it.str(), ": threads change nothing");
    }
  }
}

TEST_CASE("sampled products are bit-identical for activations in panels and in features") {
  Dice dice(5);
  for (const auto& [text, n] :
       std::vector<std::pair<const char*, Index>>{{"csr", 1},
                                                  {"csr", 63},
                                                  {"csr", 64},
                                                  {"csr", 130},
                                                  {"nmg:n=2,m=4,g=2", 63},
                                                  {"nmg:n=2,m=4,g=2", 64},
                                                  {"nmg:n=2,m=4,g=2", 130},
                                                  {"nm:n=1,m=2,axis=0", 128}}) {
    const Tensor a = sparse_tensor(dice, normals(dice, {11, 23}), Spec::parse(text));
    const Dense dy = normals(dice, {11, n}), x = normals(dice, {23, n});
    const auto in_panels = [&, n = n](const Dense& features) {
      const Index rows = features.extents[0];
      std::vector<float> out(panels_size(rows, n),
                             NAN);  // values after the last token are undefined
      for (Index r = 0; r < rows; ++r)
        for (Index t = 0; t < n; ++t)
          out[(t / panel_width * rows + r) * panel_width + t % panel_width] =
              features.values.as<float>()[r * n + t];
      return out;
    };
    const std::vector<float> y_panels = in_panels(dy), x_panels = in_panels(x);
    const Tensor wanted =
        sampled_gemm(a, n, dy.values.as<float>().data(), x.values.as<float>().data());
    const Tensor got = sampled_product(a, {ActivationLayout::panels, 11, n, y_panels.data()},
                                       {ActivationLayout::panels, 23, n, x_panels.data()});
    CHECK(same_bits(got.to_dense(), wanted.to_dense()));
    CHECK_THROWS_AS(sampled_product(a, {ActivationLayout::panels, 12, n, y_panels.data()},
                                    {ActivationLayout::panels, 23, n, x_panels.data()}),
                    Error);
  }
}

TEST_CASE("sampled products of large ragged n:m and n:m:g weights match dense") {
  Dice dice(8);
  const Index m = 1107, k = 205, n = 197;
  const Dense dy = normals(dice, {m, n}), x = normals(dice, {k, n});
  const Bounds bounds = sampled_bounds(dy, x);
  for (const char* text :
       {"nmg:n=2,m=4,g=4", "nmg:n=2,m=4,g=30", "nmg:n=1,m=2,g=9", "nmg:n=1,m=3,g=5",
        "nmg:n=3,m=5,g=2", "nm:n=2,m=4,axis=0", "nm:n=1,m=2,axis=0"}) {
    const Tensor a = sparse_tensor(dice, normals(dice, {m, k}), Spec::parse(text));
    const Mask stored = a.stored();
    Dense first;
    for (const int team : {1, 3}) {
      const Threads scope(team);
      const Dense got =
          sampled_gemm(a, n, dy.values.as<float>().data(), x.values.as<float>().data()).to_dense();
      Index wrong = 0;
      for (Index i = 0; i < got.size(); ++i) {
        const double off = got.values.as<float>()[i] - (stored[i] ? bounds.wanted[i] : 0);
        wrong += !(std::abs(off) <= (stored[i] ? bounds.most[i] : 0));
      }
      CHECK_MESSAGE(wrong == 0, text);
      if (team == 1) first = got;
      CHECK_MESSAGE(same_bits(got, first), text, ": threads change nothing");
    }
  }
}

TEST_CASE("an infinite activation affects only its row or column of a sampled product") {
  Dice dice(9);
  const Index m = 19, k = 37, n = 70, row = 6, column = 11;
  for (const std::string& text : sparse_specs) {
    const Tensor a = sparse_tensor(dice, normals(dice, {m, k}), Spec::parse(text));
    Dense dy = normals(dice, {m, n}), x = normals(dice, {k, n});
    dy.values.mutate<float>()[row * n + 3] = INFINITY;
    x.values.mutate<float>()[column * n + 66] = INFINITY;
    const Tensor got =
        sampled_gemm(a, n, dy.values.as<float>().data(), x.values.as<float>().data());
    CHECK_NOTHROW(registry().load(got.save()));  // padding is 0
    const Dense values = got.to_dense();
    Index wrong = 0;
    for (Index i = 0; i < m * k; ++i)
      if (i / k != row && i % k != column) wrong += !std::isfinite(values.values.as<float>()[i]);
    CHECK_MESSAGE(wrong == 0, text);
  }
}

TEST_CASE("sampled products write zero padding that passes the checks of loading") {
  Dice dice(3);
  for (const std::string& text : sparse_specs) {
    const Tensor a = sparse_tensor(dice, normals(dice, {11, 23}), Spec::parse(text));
    const Dense dy = normals(dice, {11, 5}), x = normals(dice, {23, 5});
    const Tensor got =
        sampled_gemm(a, 5, dy.values.as<float>().data(), x.values.as<float>().data());
    CHECK_NOTHROW(registry().load(got.save()));
  }
}

TEST_CASE("transposed and sampled products reject a dense weight") {
  Dice dice(4);
  const Tensor dense = normals(dice, {4, 4});
  std::vector<float> in(16), out(16);
  const char* text = "product: no product found for dense with dense (convert the matrix first)";
  CHECK_THROWS_WITH_AS(sparse_transposed_gemm(dense, 4, in.data(), out.data()), text, Error);
  CHECK_THROWS_WITH_AS(sampled_gemm(dense, 4, in.data(), in.data()), text, Error);
}

TEST_CASE("products of every layout use the current values of an updated weight") {
  Dice dice(7);
  for (const std::string& text : sparse_specs) {
    CAPTURE(text);
    Tensor a = sparse_tensor(dice, normals(dice, {41, 67}), Spec::parse(text));
    const Index n = 9;
    for (int step = 0; step < 4; ++step) {
      const Dense x = normals(dice, {n, 67}), dy = normals(dice, {n, 41});
      std::vector<float> y(n * 41), dx(n * 67);
      sparse_linear(a, n, x.values.as<float>().data(), y.data());
      sparse_transposed_linear(a, n, dy.values.as<float>().data(), dx.data());
      CHECK(product_bounds(true, a.to_dense(), x, n).violations(y) == 0);
      CHECK(product_bounds(true, transposed(a.to_dense()), dy, n).violations(dx) == 0);
      // Pruned elements stay 0 in every layout, including padding.
      a = Tensor::update(a, [&](Values& v) {
        for (float& w : v.mutate<float>()) w *= static_cast<float>(1 + dice.uniform());
      });
    }
  }
}
