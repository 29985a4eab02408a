// SPDX-License-Identifier: Apache-2.0
// Operators with indices, lengths, conditions or equations, as ONNX defines them.
#include <doctest/doctest.h>

#include "libsten/compute/ops/elementwise/elementwise.h"
#include "tests/ops/operands.h"

using namespace sten;
using namespace sten::testing;

namespace {

using List = Attributes::List;
Tensor numbers(Shape extents, const std::vector<std::int64_t>& v, DType dtype = DType::I64) {
  return cast(int64s(std::move(extents), v), dtype);
}
Tensor numbers(const std::vector<std::int64_t>& v, DType dtype = DType::I64) {
  return numbers({std::ssize(v)}, v, dtype);
}
Attributes word(const char* name, const char* value) {
  return Attributes().set(name, std::string(value));
}

}  // namespace

TEST_CASE("gather-nd gathers the slices that index tuples name") {
  const Tensor x = rising({2, 2, 3});
  CHECK(is(apply("gather-nd", {x, numbers({2, 2}, {0, 1, -1, 0})}), {2, 3}, {3, 4, 5, 6, 7, 8}));
  CHECK(is(apply("gather-nd", {x, numbers({1, 3}, {1, 1, -1})}), {1}, {11}));
  const Attributes batch = Attributes().set("batch-dims", 1);
  CHECK(is(apply("gather-nd", {x, numbers({2, 1}, {1, 0})}, batch), {2, 3}, {3, 4, 5, 6, 7, 8}));
  CHECK(is(apply("gather-nd", {numbers({3}, {7, 8, 9}), numbers({2, 1}, {2, 2}, DType::I32)}),
           numbers({9, 9})));
  CHECK(error_of([&] {
          apply("gather-nd", {x, numbers({1, 2}, {0, 2})});
        }) == "gather-nd: ids[0, 1] is 2, but x is [2, 2, 3]");
  CHECK(error_of([&] {
          apply("gather-nd", {x, numbers({1, 4}, {0, 0, 0, 0})});
        }) == "gather-nd: x is [2, 2, 3] but ids are [1, 4], which do not fit with 0 batch axes");
}

TEST_CASE("scatter-elements and scatter-nd write updates in order, or reduce them into x") {
  const Tensor x = rising({2, 3}), ids = numbers({2, 3}, {2, 2, -3, 0, 1, 0});
  const Tensor updates = f32({2, 3}, {10, 20, 30, 40, 50, 60});
  const auto scattered = [&](const char* reduction) {
    return apply("scatter-elements", {x, ids, updates},
                 word("reduction", reduction).set("axis", 1));
  };
  CHECK(is(scattered("none"), {2, 3}, {30, 1, 20, 60, 50, 5}));
  CHECK(is(scattered("add"), {2, 3}, {30, 1, 32, 103, 54, 5}));
  CHECK(is(scattered("mul"), {2, 3}, {0, 1, 400, 7200, 200, 5}));
  CHECK(is(scattered("min"), {2, 3}, {0, 1, 2, 3, 4, 5}));
  CHECK(is(scattered("max"), {2, 3}, {30, 1, 20, 60, 50, 5}));
  CHECK(is(x, rising({2, 3})));
  const Tensor rows = numbers({2, 1}, {1, 1});
  CHECK(is(apply("scatter-nd", {x, rows, updates}), {2, 3}, {0, 1, 2, 40, 50, 60}));
  CHECK(is(apply("scatter-nd", {x, rows, updates}, word("reduction", "add")), {2, 3},
           {0, 1, 2, 53, 74, 95}));
  // Integers wrap, and 16-bit floats are computed in F32.
  const auto sum = [&](const Tensor& a, const Tensor& b) {
    return apply("scatter-nd", {a, numbers({1, 1}, {0}), b}, word("reduction", "add"));
  };
  CHECK(is(sum(numbers({127}, DType::I8), numbers({1}, DType::I8)), numbers({-128}, DType::I8)));
  CHECK(is(sum(numbers({2}, DType::BF16), numbers({3}, DType::BF16)), numbers({5}, DType::BF16)));
  CHECK(error_of([&] { scattered("last"); }) ==
        "scatter-elements: unknown reduction 'last' (expected none, add, mul, min or max)");
  CHECK(error_of([&] {
          apply("scatter-nd", {x, rows, rising({2, 2})});
        }) == "scatter-nd: updates are [2, 2], expected [2, 3]");
}

TEST_CASE("overwritten scatter-nd updates get no gradient, and reduction max rejects backward") {
  Tape tape;
  const Var x = tape.parameter(rising({3})), u = tape.parameter(rising({3}));
  const Var ids = numbers({3, 1}, {1, 2, 1});
  tape.backward(apply("scatter-nd", {x, ids, u}), f32({3}, {5, 6, 7}));
  CHECK(is(*x.grad(), {3}, {5, 0, 0}));
  CHECK(is(*u.grad(), {3}, {0, 7, 6}));
  const Var y = apply("scatter-nd", {x, ids, u}, word("reduction", "max"));
  CHECK(error_of([&] { tape.backward(y, rising({3})); }) ==
        "scatter-nd.grad: the reduction 'max' has no gradient");
}

TEST_CASE("one-hot, eye-like and hardmax mark at most one element per row") {
  const Tensor values = numbers({3, 9}, DType::U8), ids = numbers({4}, {0, 2, -1, 3});
  const Tensor depth = f32({}, {3});
  CHECK(is(apply("one-hot", {ids, depth, values}),
           numbers({4, 3}, {9, 3, 3, 3, 3, 9, 3, 3, 9, 3, 3, 3}, DType::U8)));
  CHECK(is(apply("one-hot", {ids, depth, values}, Attributes().set("axis", Index{0})),
           numbers({3, 4}, {9, 3, 3, 3, 3, 3, 3, 3, 3, 9, 9, 3}, DType::U8)));
  CHECK(error_of([&] {
          apply("one-hot", {ids, depth, ids});
        }) == "one-hot: the values must be of shape [2], got [4]");
  const Attributes eye = word("dtype", "F16").set("k", -1);
  CHECK(is(apply("eye-like", {rising({3, 2})}, eye),
           numbers({3, 2}, {0, 0, 1, 0, 0, 1}, DType::F16)));
  CHECK(is(apply("eye-like", {rising({2, 3})}), {2, 3}, {1, 0, 0, 0, 1, 0}));
  CHECK(
      is(apply("hardmax", {Tensor(f32({2, 3}, {1, 5, 5, 2, 1, 0}))}), {2, 3}, {0, 1, 0, 1, 0, 0}));
  CHECK(
      is(apply("hardmax", {Tensor(f32({2, 2}, {1, 5, 2, 1}))}, Attributes().set("axis", Index{0})),
         {2, 2}, {0, 1, 1, 0}));
}

TEST_CASE("non-zero and compress select nonzero and true elements") {
  CHECK(is(apply("non-zero", {Tensor(f32({2, 3}, {0, 1, -0.0f, NAN, 0, 2}))}),
           numbers({2, 3}, {0, 1, 1, 1, 0, 2})));
  CHECK(is(apply("non-zero", {numbers({}, {5})}), numbers({0, 1}, std::vector<std::int64_t>{})));
  const Tensor x = rising({3, 2}), truths = numbers({0, 1, 1}, DType::BOOL);
  CHECK(is(apply("compress", {x, truths}), {2}, {1, 2}));
  CHECK(
      is(apply("compress", {x, truths}, Attributes().set("axis", Index{0})), {2, 2}, {2, 3, 4, 5}));
  CHECK(is(apply("compress", {x, numbers({0, 1}, DType::BOOL)}, Attributes().set("axis", -1)),
           {3, 1}, {1, 3, 5}));
  CHECK(error_of([&] {
          apply("compress", {x, truths}, Attributes().set("axis", 1));
        }) == "compress: the condition has 3 elements, more than axis 1 of x [3, 2]");
}

TEST_CASE("unique returns values, first indices, inverse indices and counts") {
  const Tensor x = f32({2, 4}, {2, 1, NAN, 1, 3, 1, NAN, 2});
  const auto all = [&](const Attributes& by) {
    std::vector<Tensor> out;
    for (const char* op : {"unique", "unique-indices", "unique-inverse", "unique-counts"})
      out.push_back(apply(op, {x}, by));
    return out;
  };
  const std::vector<Tensor> sorted = all({});
  CHECK(is(sorted[0], {4}, {1, 2, 3, NAN}));
  CHECK(is(sorted[1], numbers({1, 0, 4, 2})));
  CHECK(is(sorted[2], numbers({1, 0, 3, 0, 2, 0, 3, 1})));
  CHECK(is(sorted[3], numbers({3, 2, 1, 2})));
  const std::vector<Tensor> as_met = all(Attributes().set("sorted", Index{0}));
  CHECK(is(as_met[0], {4}, {2, 1, NAN, 3}));
  CHECK(is(as_met[1], numbers({0, 1, 2, 4})));
  CHECK(is(as_met[2], numbers({0, 1, 2, 1, 3, 1, 2, 0})));
  CHECK(is(as_met[3], numbers({2, 3, 2, 1})));
  const Tensor columns = numbers({2, 3}, {1, 0, 1, 2, 9, 2}, DType::U8);
  CHECK(is(apply("unique", {columns}, Attributes().set("axis", -1)),
           numbers({2, 2}, {0, 1, 9, 2}, DType::U8)));
}

TEST_CASE("reverse-sequence reverses the leading elements of each sequence") {
  const Tensor x = rising({4, 2}), lengths = numbers({3, 1});
  CHECK(is(apply("reverse-sequence", {x, lengths}), {4, 2}, {4, 1, 2, 3, 0, 5, 6, 7}));
  const Attributes by_rows = Attributes().set("batch-axis", Index{0}).set("time-axis", 1);
  CHECK(is(apply("reverse-sequence", {x, numbers({2, 0, 1, 2})}, by_rows), {4, 2},
           {1, 0, 2, 3, 4, 5, 7, 6}));
  CHECK(error_of([&] {
          apply("reverse-sequence", {x, numbers({5, 1})});
        }) == "reverse-sequence: the length 5 does not fit x [4, 2]");
}

TEST_CASE("nll-loss weights classes and skips ignored targets") {
  const Tensor x = f32({3, 2}, {-1, -2, -3, -4, -5, -6}), targets = numbers({1, 0, 1});
  const Tensor weight = f32({2}, {1, 3});
  const auto loss = [&](const char* reduction) {
    return apply("nll-loss", {x, targets, weight}, word("reduction", reduction));
  };
  CHECK(is(loss("none"), {3}, {6, 3, 18}));
  CHECK(is(loss("sum"), {}, {27}));
  CHECK(is(loss("mean"), {}, {27.0f / 7}));
  CHECK(is(apply("nll-loss", {x, targets}, Attributes().set("ignore", 1)), {}, {3}));
  CHECK(is(apply("nll-loss", {x, numbers({-1, -1, -1})}, Attributes().set("ignore", -1)), {}, {0}));
  Tape tape;
  const Var p = tape.parameter(x);
  tape.backward(apply("nll-loss", {p, Var(targets), Var(weight)}), f32({}, {7}));
  CHECK(is(*p.grad(), {3, 2}, {0, -3, -1, 0, 0, -3}));
  CHECK(error_of([&] {
          apply("nll-loss", {x, numbers({1, 2, 0})});
        }) == "nll-loss: targets[1] must be in [0, 2), got 2");
  CHECK(error_of([&] {
          apply("nll-loss", {x, numbers({2}, {1, 0})});
        }) == "nll-loss: x and targets must be [N, C, ...] and [N, ...], got [3, 2] and [2]");
}

TEST_CASE("einsum supports diagonals, ellipses and implicit or explicit results") {
  const auto e = [](const char* equation, std::initializer_list<Tensor> in) {
    return apply("einsum", in, word("equation", equation));
  };
  const Tensor x = rising({2, 3}), square = rising({2, 2}), v = f32({3}, {1, 10, 100});
  CHECK(is(e("ij->ji", {x}), {3, 2}, {0, 3, 1, 4, 2, 5}));
  CHECK(is(e("ij", {x}), x));
  CHECK(is(e("ji", {x}), {3, 2}, {0, 3, 1, 4, 2, 5}));
  CHECK(is(e("ii", {square}), {}, {3}));
  CHECK(is(e("ii -> i", {square}), {2}, {0, 3}));
  CHECK(is(e("ij,j", {x, v}), {2}, {210, 543}));
  CHECK(is(e("...j,j->...j", {x, v}), {2, 3}, {0, 10, 200, 3, 40, 500}));
  CHECK(is(e("...i,...i->...", {x, x}), {2}, {5, 50}));
  CHECK(is(e("ij,ik->jk", {x, square}), {3, 2}, {6, 9, 8, 13, 10, 17}));
  CHECK(is(e("i,j->ij", {f32({2}, {1, 2}), v}), {2, 3}, {1, 10, 100, 2, 20, 200}));
  CHECK(is(e("ij,ij->j", {x, f32({1, 3}, {1, 2, 3})}), {3}, {3, 10, 21}));  // an extent of 1
  CHECK(error_of([&] {
          e("ij,jk->ik", {x, x});
        }) == "einsum: the operands of 'ij,jk->ik' have different extents for one letter: 3 and 2");
  CHECK(error_of([&] { e("ij->ik", {x}); }) ==
        "einsum: the result of 'ij->ik' repeats a letter or has an unknown letter");
  CHECK(error_of([&] { e("ijk->i", {x}); }) ==
        "einsum: an operand of 'ijk->i' is [2, 3], which does not match 'ijk'");
  CHECK(error_of([&] { e("i.j", {x}); }) ==
        "einsum: the equation 'i.j' has a '.': expected letters and at most one '...'");
  CHECK(error_of([&] { e("ij,jk", {x}); }) ==
        "einsum: the equation 'ij,jk' needs 2 operands, got 1");
}
