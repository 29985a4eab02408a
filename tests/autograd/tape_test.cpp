// SPDX-License-Identifier: Apache-2.0
// Tapes: recording, accumulation of gradients, and release of memory.
#include "libsten/compute/autograd/tape.h"

#include <doctest/doctest.h>

#include "libsten/compute/ops/common/operators.h"
#include "tests/product/sparse_tensors.h"
#include "tests/support/warnings.h"

using namespace sten;
using namespace sten::testing;

namespace {

std::vector<float> numbers(const Tensor& t) {
  const Dense d = t.to_dense();
  const auto v = d.values.as<float>();
  return {v.begin(), v.end()};
}
std::vector<float> grad(const Var& v) {
  REQUIRE(v.grad());
  return numbers(*v.grad());
}
Tensor row(std::initializer_list<float> v) {
  return Dense::of({1, static_cast<Index>(v.size())}, v);
}
Sparsifier by(const char* text) { return registry().sparsifier(Spec::parse(text)); }

Tensor csr_row() { return registry().pack(row({1, 0}).to_dense(), Mask::all({1, 2}), Spec("csr")); }

// Indices of rows of a table of three.
Var ids_2_0_2() {
  Dense ids = Dense::zeros(DType::I64, {3});
  std::ranges::copy(std::vector<std::int64_t>{2, 0, 2}, ids.values.mutate<std::int64_t>().begin());
  return Var(ids);
}
const Tensor& eye() {
  static const Tensor t = Dense::of({3, 3}, {1, 0, 0, 0, 1, 0, 0, 0, 1});
  return t;
}

// Adds an operator that computes embedding. Its third input is unused: the layout of that input
// selects the gradient, `backward` for `layout` and embedding's own for dense.
void add_lookup(Name op, Name layout, Implementation backward) {
  const Name grad = std::string(op.text()) + ".grad";
  declare_operator(op, {SavedForBackward::inputs});
  add_operator({op, {"dense", "dense", any::layout}, {{}}}, [](const Call& c) {
    return run("embedding", {c.in.first(2), c.formats, c.attributes});
  });
  const auto as_embedding = [](const Call& c) {
    Outputs out = run("embedding.grad", {c.in.first(3), c.formats.first(2), c.attributes,
                                         c.shapes.first(2), c.hints.first(2)});
    out.resize(3);
    return out;
  };
  add_operator({grad, {"dense", "dense", "dense", "dense"}, {{}, {}, {}}}, as_embedding);
  add_operator({grad, {"dense", "dense", "dense", layout}, {{}, {}, {}}}, std::move(backward));
}

// Backward of a table that `op` looks up and that is also the weight of the linear layer after it,
// whose gradient [5, 6], [1, 2], [5, 6] is added first.
void walk_lookup(Tape& tape, const Var& table, Name op, const Tensor& third) {
  const Var x = apply(op, {table, ids_2_0_2(), Var(third)});
  tape.backward(linear(x, table), eye());
}

}  // namespace

TEST_CASE("backward computes the gradients of a chain of operators") {
  Tape tape;
  const Var x = tape.parameter(row({1, 2}));
  const Var w = tape.parameter(Dense::of({1, 2}, {3, 4}));
  const Var y = scale(linear(x, w), 2);
  CHECK(numbers(y.value()) == std::vector<float>{22});
  tape.backward(y);
  CHECK(grad(x) == std::vector<float>{6, 8});
  CHECK(grad(w) == std::vector<float>{2, 4});
}

TEST_CASE("backward passes complete gradients to a callback, those of the last operator first") {
  Tape tape;
  const Var unused = tape.parameter(row({7}));
  const Var w = tape.parameter(Dense::of({2, 2}, {1, 0, 0, 1}));  // used twice
  const Var last = tape.parameter(Dense::of({1, 2}, {3, 4}));
  const Var x = row({1, 2});
  const Var y = linear(linear(linear(x, w), w), last);
  std::vector<std::pair<std::size_t, std::vector<float>>> got;
  tape.backward(y, Tensor(Dense::of({1, 1}, {1})), [&](std::size_t parameter, Tensor gradient) {
    got.emplace_back(parameter, numbers(gradient));
  });
  REQUIRE(got.size() == 2);
  CHECK(got[0] == std::pair{std::size_t{2}, std::vector<float>{1, 2}});
  CHECK(got[1] == std::pair{std::size_t{1}, std::vector<float>{6, 12, 8, 16}});
  CHECK(!w.grad());
  CHECK(!last.grad());
}

TEST_CASE("the gradient of a value that is both operands of an operator is the sum of both") {
  Tape tape;
  const Var x = tape.parameter(Dense::of({2, 2}, {1, 2, 3, 4}));
  tape.backward(matmul(x, x), Tensor(Dense::of({2, 2}, {1, 0, 0, 0})));
  // d(x00 x00 + x01 x10)
  CHECK(grad(x) == std::vector<float>{2, 3, 2, 0});
  Tape other;
  const Var u = other.parameter(row({1, 2})), v = scale(u, 3);
  const Var both = linear(v, v);  // 9 |u|^2
  other.backward(both);
  CHECK(grad(u) == std::vector<float>{18, 36});
}

TEST_CASE("the gradient of an embedding tied to a linear weight is the sum of both uses") {
  for (const bool matches_other : {false, true}) {
    Tape tape;
    const Var table = tape.parameter(Dense::of({3, 2}, {1, 2, 3, 4, 5, 6}));
    tape.backward(linear(apply("embedding", {table, ids_2_0_2()}), table), eye());
    // dW[r] = x[r], and row ids[t] of the table gets W[t].
    const std::vector<float> both{5 + 3, 6 + 4, 1, 2, 5 + 1 + 5, 6 + 2 + 6};
    CHECK(grad(table) == both);
    if (!matches_other) continue;
    // A gradient that is held elsewhere does not change.
    const Tensor held = *table.grad();
    tape.backward(linear(apply("embedding", {table, ids_2_0_2()}), table), eye());
    CHECK(numbers(held) == both);
    CHECK(grad(table) == std::vector<float>{16, 20, 2, 4, 22, 28});
  }
}

TEST_CASE("an operator that runs inside a gradient does not add to the accumulated gradient") {
  add_lookup("nested", "dense", [](const Call& c) {
    // Returns twice embedding's gradient, without the accumulated sum.
    Outputs out =
        run("embedding.grad", {c.in.first(3), c.formats.first(2), c.attributes, c.shapes.first(2)});
    return Outputs{scale(*out[0], 2), std::nullopt, std::nullopt};
  });
  Tape tape;
  const Var table = tape.parameter(Dense::of({3, 2}, {1, 2, 3, 4, 5, 6}));
  walk_lookup(tape, table, "nested", row({0}));
  CHECK(grad(table) == std::vector<float>{5 + 2 * 3, 6 + 2 * 4, 1, 2, 5 + 2 * 6, 6 + 2 * 8});
}

TEST_CASE("a gradient that throws Unsupported leaves the accumulated sum to its fallback") {
  bool was_reached = false;
  add_lookup("declines", "csr", [&](const Call& c) -> Outputs {
    c.add_to_sum(0, [&](Values&) {
      was_reached = true;
      fail_unsupported("not with this one");
    });
    return {};
  });
  const Warnings warnings;
  Tape tape;
  const Var table = tape.parameter(Dense::of({3, 2}, {1, 2, 3, 4, 5, 6}));
  walk_lookup(tape, table, "declines", csr_row());
  CHECK(was_reached);
  CHECK(warnings.all.size() == 1);
  CHECK(grad(table) == std::vector<float>{5 + 3, 6 + 4, 1, 2, 5 + 1 + 5, 6 + 2 + 6});
}

TEST_CASE("a backward pass that throws leaves gradients unchanged, partly added sums included") {
  for (const bool takes_sum : {false, true}) {
    add_lookup("throws", "csr", [&](const Call& c) -> Outputs {
      if (takes_sum) REQUIRE(c.add_to_sum(0, [](Values& v) { v.mutate<float>()[0] = 99; }));
      // An error is the only way to undo the sum.
      if (takes_sum) fail_unsupported("too late");
      fail("cannot be walked");
    });
    Tape tape;
    const Var table = tape.parameter(Dense::of({3, 2}, {1, 2, 3, 4, 5, 6}));
    tape.backward(scale(table, 3), Dense::of({3, 2}, {1, 1, 1, 1, 1, 1}));
    const auto before = grad(table);
    CHECK(has(error_of([&] { walk_lookup(tape, table, "throws", csr_row()); }),
              takes_sum ? "too late" : "cannot be walked"));
    CHECK(grad(table) == before);
    tape.backward(scale(table, 1), Dense::of({3, 2}, {1, 0, 0, 0, 0, 0}));
    CHECK(grad(table) == std::vector<float>{4, 3, 3, 3, 3, 3});
  }
}

TEST_CASE("gradients of several backward passes are accumulated") {
  Tape tape;
  const Var x = tape.parameter(row({1, 2}));
  tape.backward(scale(x, 3), row({1, 1}));
  tape.backward(scale(x, 4), row({1, 0}));
  CHECK(grad(x) == std::vector<float>{7, 3});
  const Var y = scale(x, 1);
  tape.backward(y, row({1, 1}), true);
  tape.backward(y, row({1, 1}));
  CHECK(grad(x) == std::vector<float>{9, 5});
  CHECK(has(error_of([&] { Tape().backward(y); }), "does not depend on a parameter of this tape"));
}

TEST_CASE("constants have no gradient, and operators on constants only are not recorded") {
  Tape tape;
  const Var c = Tensor(row({1, 2})), w = tape.parameter(row({3, 4}));
  const Var y = linear(c, w);
  CHECK(tape.size() == 1);
  scale(c, 2);
  CHECK(tape.size() == 1);
  tape.backward(y);
  CHECK(!c.grad());
  CHECK(grad(w) == std::vector<float>{1, 2});
  CHECK(has(error_of([&] { tape.backward(c); }), "does not depend on a parameter"));
}

TEST_CASE("no operator is recorded under NoGrad") {
  Tape tape;
  const Var w = tape.parameter(row({3, 4}));
  {
    const Tape::NoGrad pause(tape);
    CHECK(!scale(w, 2).wants_grad());
  }
  CHECK(tape.size() == 0);
  CHECK(scale(w, 2).wants_grad());
  CHECK(tape.size() == 1);
}

TEST_CASE("backward frees recorded operators, and intermediate gradients without retain_grad") {
  Tape tape;
  const Var x = tape.parameter(row({1, 2})), a = scale(x, 2), b = scale(a, 3);
  b.retain_grad();
  tape.backward(scale(b, 5), row({1, 1}));
  CHECK(tape.size() == 0);
  CHECK(!a.grad());
  CHECK(grad(b) == std::vector<float>{5, 5});
  CHECK(has(error_of([&] { Var(Tensor(row({1}))).retain_grad(); }), "a constant has no gradient"));
}

TEST_CASE("a tape holds only tensors that gradients read, and backward frees them") {
  Tape tape;
  const Var w = tape.parameter(Dense::of({2, 2}, {1, 2, 3, 4}));
  std::weak_ptr<const int> seen[3];
  // Detects when a tensor is released, by the lifetime of a derived value.
  const auto watch = [](const Tensor& t) {
    return std::weak_ptr<const int>(t.derived().get<int>([] { return 0; }));
  };
  std::optional<Var> y;
  {
    const Var a = linear(Var(Tensor(row({1, 2}))), w), b = scale(a, 2);
    seen[0] = watch(a.value());  // scale's gradient reads nothing
    seen[1] = watch(b.value());  // linear's reads its inputs
    y = linear(b, w);
  }
  CHECK(seen[0].expired());
  CHECK(!seen[1].expired());
  tape.backward(*y, row({1, 1}));
  CHECK(seen[1].expired());
}

TEST_CASE("gradients of sparse weights have the layout and positions of the weights") {
  Dice dice(1);
  for (const char* spec : {"nmg:n=1,m=4,g=3", "csr", "masked", "bcsr:h=4,w=4", "nm:n=2,m=4"}) {
    const Tensor w = sparse_tensor(dice, normals(dice, {12, 12}), Spec::parse(spec));
    Tape tape;
    const Var v = tape.parameter(w), x = tape.parameter(normals(dice, {3, 12}));
    // Twice, so that gradients are added up in that layout.
    tape.backward(linear(linear(x, v), v), Tensor(normals(dice, {3, 12})));
    CHECK(v.grad()->spec() == w.spec());
    CHECK(same_mask(v.grad()->stored(), w.stored()));
  }
}

TEST_CASE("gradients of parameters and of intermediates have the requested formats") {
  std::vector<std::string> log;
  Tape tape;
  const Var x =
      tape.parameter(row({1, -2, 3, -4}), OutFormat::fused(by("threshold:at=13"), Spec("csr")));
  const Formats formats(OutFormat{}, OutFormat::fused(by("threshold:at=3"), Spec("csc")));
  const Var a = scale(x, 2, formats);
  a.retain_grad();
  const Var y = scale(a, 5);
  Operators::log_plans(&log);
  tape.backward(y, row({1, 0.5, 0.1f, 2}));
  Operators::log_plans(nullptr);
  REQUIRE(a.grad());
  CHECK(a.grad()->layout() == "csc");
  CHECK(numbers(*a.grad()) == std::vector<float>{5, 0, 0, 10});
  CHECK(x.grad()->layout() == "csr");
  CHECK(grad(x) == std::vector<float>{0, 0, 0, 20});
  CHECK(log.front() == "scale.grad(dense) -> threshold/csc: exact");
}

TEST_CASE("gradients of all uses of a value are summed before the external sparsifier applies") {
  Tape tape;
  const Var x = tape.parameter(row({1, 2, 3, 4}),
                               OutFormat::after(by("magnitude:sparsity=0.5"), Spec("csr")));
  const Var both = add(scale(x, 2), scale(x, 3));
  tape.backward(both, row({1, -4, 3, -2}));
  CHECK(x.grad()->layout() == "csr");
  CHECK(grad(x) == std::vector<float>{0, -20, 15, 0});
}

TEST_CASE("a first-order sparsifier waits for the gradient") {
  Tape tape;
  const Var w = tape.parameter(row({1, -2, 3, -4}));
  const DeferredSparsity deferred(w, by("gradient:sparsity=0.5"), Spec("csr"));
  CHECK(!deferred.is_ready());
  CHECK(has(error_of([&] { deferred.get(); }),
            "gradient needs the gradient of its input (call backward() first)"));
  tape.backward(scale(w, 1), row({9, 4, 1, 1}));
  // |w g| = 9, 8, 3, 4
  CHECK(deferred.get().layout() == "csr");
  CHECK(numbers(deferred.get()) == std::vector<float>{1, -2, 0, 0});
  // Also for an intermediate, whose output has its temporary layout until then.
  Tape other;
  const Var x = other.parameter(row({1, -2, 3, -4}));
  const Sparsifier s = by("movement:sparsity=0.5");
  const Var y = scale(x, 2, OutFormat::after(s, Spec("csr")));
  CHECK(y.value().layout() == "dense");
  const DeferredSparsity pruned(y, s, Spec("csr"));
  other.backward(scale(y, 1), row({-1, 1, -2, 1}));
  // -y g = 2, 4, 12, 8
  CHECK(numbers(pruned.get()) == std::vector<float>{0, 0, 6, -8});
}

TEST_CASE("mixed or expired tapes and missing or misshaped output gradients are rejected") {
  Tape tape, other;
  const Var x = tape.parameter(row({1, 2})), y = other.parameter(row({1, 2}));
  CHECK(has(error_of([&] { linear(x, y); }), "linear: the inputs are on different tapes"));
  CHECK(has(error_of([&] { tape.backward(scale(x, 2)); }), "of shape [1, 2] needs a gradient"));
  CHECK(
      has(error_of([&] { tape.backward(scale(x, 2), row({1})); }), "of shape [1, 1] does not fit"));
  std::optional<Var> left;
  {
    Tape gone;
    left = gone.parameter(row({1, 2}));
  }
  CHECK(has(error_of([&] { scale(*left, 2); }), "the tape of the value no longer exists"));
}
