// SPDX-License-Identifier: Apache-2.0
// Operators that write over their first operand.
#include "libsten/compute/ops/elementwise/in_place.h"

#include <doctest/doctest.h>

#include "tests/product/sparse_tensors.h"
#include "tests/support/parts.h"
#include "tests/support/strict.h"

using namespace sten;
using namespace sten::testing;

namespace {

// A copy in memory of its own; Dense::of() borrows its memory.
Tensor owned(const Dense& x) { return scale(Tensor(x), 1); }
Tensor four() { return owned(Dense::of({2, 2}, {-1, 2, -3, 4})); }
std::vector<float> of(const Tensor& t) {
  const Dense d = t.to_dense();
  return {d.values.as<float>().begin(), d.values.as<float>().end()};
}
const void* place(const Tensor& t) { return t.values()->bytes().data(); }
using Floats = std::vector<float>;

}  // namespace

TEST_CASE("in-place operators reuse the memory of an unshared tensor") {
  Tensor x = four();
  const void* at = place(x);
  relu_(x);
  CHECK(of(x) == Floats{0, 2, 0, 4});
  scale_(x, 0.5);
  CHECK(of(x) == Floats{0, 1, 0, 2});
  add_(x, Dense::of({2, 2}, {1, 2, 3, 4}));
  CHECK(of(x) == Floats{1, 3, 3, 6});
  add_(x, Dense::of({2}, {10, 20}));  // repeated, as a bias is
  CHECK(of(x) == Floats{11, 23, 13, 26});
  add_(x, x);
  CHECK(of(x) == Floats{22, 46, 26, 52});
  slice_scatter_(x, Dense::of({2, 1}, {7, 8}), 1, 0, 1);
  CHECK(of(x) == Floats{7, 46, 8, 52});
  CHECK(place(x) == at);
  Tensor wide = Dense::of({1, 2}, {-0.5, 3}), d = Dense::zeros(DType::F64, {3});
  scale_(d, 2);
  CHECK(error_of([&] { add_(wide, d); }) == "add: a is F32 but b is F64");
}

TEST_CASE("in-place operators copy shared or borrowed values and leave other holders unchanged") {
  Tensor x = four();
  const Tensor copy = x;
  relu_(x);
  CHECK(of(copy) == Floats{-1, 2, -3, 4});
  CHECK(of(x) == Floats{0, 2, 0, 4});
  Dense d = four().to_dense();
  Tensor y = d;  // only d shares the values
  scale_(y, 2);
  CHECK(d.values.as<float>()[0] == -1);
  const std::vector<float> mine{1, 2};
  Tensor z = Dense{{2}, Values(DType::F32, Array<float>::borrow(nullptr, mine.data(), 2).bytes())};
  scale_(z, 3);
  CHECK(mine[0] == 1);
  CHECK(of(z) == Floats{3, 6});
}

TEST_CASE("relu_, scale_ and add_ keep the layout and positions of a csr tensor") {
  const Tensor base =
      registry().pack(Dense::of({2, 3}, {-1, 0, 2, 0, -3, 0}),
                      nonzero_mask(Dense::of({2, 3}, {-1, 0, 2, 0, -3, 0})), Spec("csr"));
  Tensor x = Tensor::update(base, [](Values& v) { v.mutate<float>(); });
  const void* at = place(x);
  relu_(x);
  scale_(x, 2);
  CHECK(place(x) == at);
  CHECK(x.layout() == "csr");
  CHECK(of(x) == Floats{0, 0, 4, 0, 0, 0});
  CHECK(x.stored().count() == 3);
  add_(x, Dense::of({2, 3}, {1, 2, 3, 4, 5, 6}));
  CHECK(x.layout() == "csr");
  CHECK(of(x) == Floats{1, 0, 7, 0, 5, 0});
}

TEST_CASE("a view writes through to its tensor") {
  Tensor x = owned(Dense::of({3, 2}, {-1, -2, -3, -4, 5, 6}));
  const void* at = place(x);
  const View first(x, 0, 0, 2), right(x, 1, 1, 2);
  relu_(first);
  scale_(right, 10);
  add_(right, Tensor(Dense::of({3, 1}, {1, 2, 3})));
  CHECK(of(x) == Floats{0, 1, 0, 2, 5, 63});
  CHECK(of(first.get()) == Floats{0, 1, 0, 2});
  CHECK(place(x) == at);
  CHECK(error_of([&] { View(x, 0, 2, 4).get(); }) ==
        "slice: x [3, 2] has no range [2, 4) along axis 0");
  CHECK(error_of([&] {
          right.set(Dense::of({2, 1}, {1, 2}));
        }) == "slice-scatter: v is [2, 1] but the slice of x is [3, 1]");
}

TEST_CASE("in-place operators on a tape reuse memory and do not change the gradients") {
  const Tensor w = Dense::of({2, 2}, {1, -2, 3, -1}), b = Dense::of({2}, {0.5, 1}),
               x = Dense::of({2, 2}, {1, 2, -1, 1}), part = Dense::of({1, 2}, {3, 4}),
               seed = Dense::of({2, 2}, {1, 2, 3, 4});
  Tape fresh, tape;
  const Var w0 = fresh.parameter(w), b0 = fresh.parameter(b), p0 = fresh.parameter(part);
  fresh.backward(relu(slice_scatter(scale(add(linear(Var(x), w0), b0), -2), p0, 0, 1, 2)), seed);

  const Var w1 = tape.parameter(w), b1 = tape.parameter(b), p1 = tape.parameter(part);
  Var h = linear(Var(x), w1);
  const void* at = place(h.value());
  add_(h, b1);
  scale_(h, -2);
  View(h, 0, 1, 2).set(p1);
  relu_(h);
  CHECK(place(h.value()) == at);
  tape.backward(h, seed);
  CHECK(of(*w1.grad()) == of(*w0.grad()));
  CHECK(of(*b1.grad()) == of(*b0.grad()));
  CHECK(of(*p1.grad()) == of(*p0.grad()));
  // A constant that gets a value of the tape becomes one of the tape.
  Tape other;
  const Var q = other.parameter(b);
  Var c = Tensor(four());
  add_(c, q);
  CHECK(c.wants_grad());
  other.backward(c, seed);
  CHECK(of(*q.grad()) == Floats{4, 6});
}

TEST_CASE("in-place operators reject parameters and values saved for backward") {
  Tape tape;
  Var w = tape.parameter(four());
  CHECK(error_of([&] { relu_(w); }) == "relu_: the value is a parameter of the tape (use relu())");
  Var h = scale(w, 2);
  const Var square = mul(h, h);
  CHECK(error_of([&] { scale_(h, 3); }) == "scale_: mul.grad needs the old value (use scale())");
  CHECK(of(h.value()) == Floats{-2, 4, -6, 8});
  Var y = add(w, w);
  relu_(y);  // the tape saves the result
  CHECK(has(error_of([&] { add_(y, Tensor(four())); }), "add_: relu.grad needs the old value"));
  // A view counts as the same value.
  CHECK(has(error_of([&] { relu_(View(h, 0, 0, 1)); }), "mul.grad needs the old value"));
  // After the backward pass nothing is saved.
  tape.backward(square, four());
  scale_(h, 3);
  CHECK(of(h.value()) == Floats{-6, 12, -18, 24});
}

TEST_CASE("add_ to a csr value passes gradients only at its positions") {
  Tape tape;
  const Var w = tape.parameter(four());
  const Sparsifier large = registry().sparsifier(Spec::parse("threshold:at=1.5"));
  Var h = scale(w, 1, Formats(OutFormat::fused(large, Spec("csr"))));
  add_(h, w);
  CHECK(h.value().layout() == "csr");
  CHECK(of(h.value()) == Floats{0, 4, -6, 8});
  tape.backward(scale(h, 1), Tensor(Dense::of({2, 2}, {1, 1, 1, 1})));
  CHECK(of(*w.grad()) == Floats{0, 2, 2, 2});
}

TEST_CASE("apply_in_place keeps the layout and positions of its tensor in several layouts") {
  Dice dice(1);
  const Dense values = normals(dice, {6, 8}), y = normals(dice, {6, 8});
  const Mask keep = random_mask(dice, {6, 8}, 0.5);
  for (const char* layout : {"dense", "masked", "csr", "coo", "bcsr:h=2,w=2", "ell", "bitmask"}) {
    CAPTURE(layout);
    const Mask stored = layout == std::string("dense") ? Mask::all({6, 8}) : keep;
    Tensor x = packed(values, stored, layout);
    const Dense before = x.to_dense();
    const Mask positions = x.stored();
    apply_in_place("sigmoid", x);
    CHECK(x.spec() == Spec::parse(layout));
    CHECK(same_mask(x.stored(), positions));
    CHECK(same_bits(x.to_dense(), masked_by(sigmoid(Tensor(before)).to_dense(), positions)));
    apply_in_place("clip", x, {}, Attributes().set("max", 0.5));
    const Dense clipped = x.to_dense();
    apply_in_place("sub", x, {Tensor(y)});
    CHECK(
        same_bits(x.to_dense(), masked_by(sub(Tensor(clipped), Tensor(y)).to_dense(), positions)));
    CHECK(x.spec() == Spec::parse(layout));
  }
}

TEST_CASE("strict mode rejects in-place operators that would fall back to dense") {
  Tensor x = packed(Dense::of({2, 2}, {1, 0, 0, 4}), "csr");
  const Tensor before = x;
  const Strict strict;
  CHECK(has(error_of([&] { apply_in_place("sigmoid", x); }), "strict: sigmoid(csr)"));
  CHECK(same_bits(x.to_dense(), before.to_dense()));
  CHECK(has(error_of([&] {
              View(x, 0, 0, 1).set(Tensor(Dense::of({1, 2}, {5, 6})));
            }),
            "strict: slice-scatter(csr, dense)"));
}

TEST_CASE("apply_in_place rejects results of another shape or dtype") {
  Tensor x = four();
  CHECK(error_of([&] {
          apply_in_place("transpose", x, {}, Attributes().set("axes", std::vector<Index>{1, 0}));
        }) == "");
  CHECK(has(error_of([&] { apply_in_place("sum", x); }),
            "sum_: x is F32 [2, 2] but the result is F32 []"));
  CHECK(has(
      error_of([&] { apply_in_place("cast", x, {}, Attributes().set("to", std::string("F64"))); }),
      "cast_: x is F32 [2, 2] but the result is F64 [2, 2]"));
  CHECK(of(x) == Floats{-1, -3, 2, 4});
}

TEST_CASE("a view of a csr tensor writes only to stored positions") {
  Tensor x = packed(Dense::of({3, 2}, {1, 0, 0, -4, 5, 6}), "csr");
  CHECK(of(View(x, 0, 1, 3).get()) == Floats{0, -4, 5, 6});
  View(x, 0, 1, 3).set(Tensor(Dense::of({2, 2}, {7, 8, 9, 10})));
  CHECK(x.layout() == "csr");
  CHECK(of(x) == Floats{1, 0, 0, 8, 9, 10});
  scale_(View(x, 1, 1, 2), 10);
  CHECK(of(x) == Floats{1, 0, 0, 80, 9, 100});
  CHECK(x.stored().count() == 4);
}

TEST_CASE("apply_in_place on a tape gives the same gradients as out-of-place operators") {
  const Tensor w = Dense::of({2, 2}, {1, -2, 3, -1}), y = four(), seed = four();
  Tape fresh, tape;
  const Var w0 = fresh.parameter(w), w1 = tape.parameter(w);
  fresh.backward(sigmoid(sub(scale(w0, 2), Var(y))), seed);
  Var h = scale(w1, 2);
  apply_in_place("sub", h, {Var(y)});
  apply_in_place("sigmoid", h);
  tape.backward(h, seed);
  CHECK(of(*w1.grad()) == of(*w0.grad()));
}
