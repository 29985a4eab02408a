// SPDX-License-Identifier: Apache-2.0
// The choice of implementations, with operators of the test's own table.
#include "libsten/core/dispatch/operators.h"

#include <doctest/doctest.h>

#include "tests/support/parts.h"
#include "tests/support/strict.h"
#include "tests/support/warnings.h"

using namespace sten;
using namespace sten::testing;

namespace {

// An implementation that returns its own number as a scalar.
Implementation says(float v) {
  return [v](const Call&) -> Outputs { return {Dense::of({}, {v})}; };
}
const OutSignature dense_out;

Tensor csr(std::initializer_list<float> v) { return packed(Dense::of({2, 2}, v), "csr"); }

struct Table {
  Operators all{registry()};

  float answer(Name op, std::vector<Tensor> in, const OutFormat& out = OutFormat::dense()) {
    const OutFormat* formats[] = {&out};
    const Outputs y = all.run(op, {in, formats, {}});
    return y[0]->to_dense().values.as<float>()[0];
  }
  std::string plan(Name op, std::vector<Name> in, OutSignature out = {}) {
    return all.plan({op, std::move(in), {out}})->text;
  }
};

}  // namespace

TEST_CASE("dispatch prefers exact layouts, then fewer wildcards, then the latest registration") {
  Table t;
  const Dense d = Dense::of({2, 2}, {1, 2, 3, 4});
  t.all.add({"f", {any::layout, any::layout}, {dense_out}}, says(1));
  CHECK(t.answer("f", {d, d}) == 1);
  t.all.add({"f", {"csr", any::layout}, {dense_out}}, says(2));
  CHECK(t.answer("f", {d, d}) == 1);
  CHECK(t.answer("f", {csr({1, 0, 0, 0}), d}) == 2);
  t.all.add({"f", {any::layout, "dense"}, {dense_out}}, says(3));
  CHECK(t.answer("f", {csr({1, 0, 0, 0}), d}) == 3);
  t.all.add({"f", {"csr", "dense"}, {dense_out}}, says(4));
  CHECK(t.answer("f", {csr({1, 0, 0, 0}), d}) == 4);
  // A later registration for the same layouts replaces the earlier one.
  t.all.add({"f", {"csr", "dense"}, {dense_out}}, says(5));
  CHECK(t.answer("f", {csr({1, 0, 0, 0}), d}) == 5);
  CHECK(t.all.patterns("f").size() == 4);
}

TEST_CASE("dispatch skips an implementation whose condition rejects the signature") {
  Table t;
  t.all.add({"f", {any::layout}, {{"keep-all", any::layout}}}, says(1),
            [](const Signature& s) { return s.in[0] == s.out[0].tmp; });
  CHECK(t.plan("f", {"csr"}, {"keep-all", "csr"}) == "f(csr) -> keep-all/csr: exact");
  CHECK(t.plan("f", {"dense"}) == "f(dense) -> keep-all/dense: exact");
  CHECK(has(t.plan("f", {"csr"}), "dense with masks, f(dense) -> keep-all/dense"));
  t.all.add({"g", {"dense"}, {dense_out}}, says(1));
  CHECK(t.plan("g", {"csr"}, {"keep-all", "csr"}) ==
        "g(csr) -> keep-all/csr: no implementation for these layouts; dense with masks, g(dense) "
        "-> keep-all/dense, and its dense result is sparsified after that");
}

TEST_CASE("inputs are converted losslessly for the implementation of least conversion cost") {
  Table t;
  t.all.add({"f", {"csr", "dense"}, {dense_out}}, says(1));
  t.all.add({"f", {"dense", "dense"}, {dense_out}}, says(2));
  CHECK(t.plan("f", {"csc", "dense"}) ==
        "f(csc, dense) -> keep-all/dense: no implementation for these layouts; converts csc to csr "
        "(cost 1) for f(csr, dense) -> keep-all/dense");
  t.all.add({"f", {"coo", "dense"}, {dense_out}}, says(3));
  // ell is an edge away from csr, and two from coo.
  CHECK(has(t.plan("f", {"ell", "dense"}), "converts ell to csr (cost 1)"));
  // masked has no edges; csr was registered first.
  CHECK(has(t.plan("f", {"masked", "dense"}), "converts masked to csr (cost 8)"));
  CHECK(has(t.plan("f", {"csr", "coo"}), "converts coo to dense (cost 8) for f(csr, dense)"));
  const Warnings warnings;
  CHECK(t.answer("f", {packed(Dense::of({2, 2}, {1, 0, 0, 2}), "csc"), Dense::of({1}, {1})}) == 1);
  CHECK(t.all.plan({"f", {"dense", "csc"}})->kind == DispatchKind::dense);
}

TEST_CASE("dispatch does not convert to layouts that may reject positions") {
  Table t;
  t.all.add({"f", {"ell"}, {dense_out}}, says(1));
  t.all.add({"f", {"nmg"}, {dense_out}}, says(1));
  CHECK(error_of([&] { t.plan("f", {"csr"}); }) ==
        "f(csr) -> keep-all/dense: no implementation found, including dense tensors");
  CHECK(has(error_of([&] { t.plan("g", {"csr"}); }), "unknown operator 'g'"));
}

TEST_CASE("a result without a sparse implementation is sparsified from dense, with a warning") {
  Table t;
  t.all.add({"f", {"csr"}, {dense_out}},
            [](const Call& c) -> Outputs { return {c.in[0].to_dense()}; });
  const OutFormat format =
      OutFormat::fused(registry().sparsifier(Spec::parse("threshold:at=2")), Spec("csc"));
  CHECK(t.plan("f", {"csr"}, {format.inline_by, "csc"}) ==
        "f(csr) -> threshold/csc: no implementation for these layouts; takes f(csr) -> "
        "keep-all/dense, and its dense result is sparsified after that");
  const Warnings warnings;
  const Tensor in[] = {csr({1, 2, 3, 0})};
  const OutFormat* formats[] = {&format};
  const Outputs y = t.all.run("f", {in, formats, {}});
  CHECK(y[0]->layout() == "csc");
  CHECK(ones_of(y[0]->stored()) == std::vector<int>{0, 1, 1, 0});
  CHECK(warnings.all.size() == 1);
}

TEST_CASE("each fallback warns once, with the text of its plan") {
  Table t;
  t.all.add({"once", {"dense"}, {dense_out}}, says(1));
  const Warnings warnings;
  for (int i = 0; i < 3; ++i) t.answer("once", {csr({1, 2, 3, 4})});
  t.answer("once", {Dense::of({1}, {1})});
  REQUIRE(warnings.all.size() == 1);
  CHECK(warnings.all[0] ==
        "once(csr) -> keep-all/dense: no implementation for these layouts; dense with masks, "
        "once(dense) "
        "-> keep-all/dense");
  t.answer("once", {packed(Dense::of({2, 2}, {1, 0, 0, 2}), "coo")});
  CHECK(warnings.all.size() == 2);
}

TEST_CASE("strict mode rejects exactly the calls that would fall back") {
  Table t;
  t.all.add({"f", {"dense"}, {dense_out}}, says(1));
  t.all.add({"f", {"csr"}, {dense_out}}, says(2));
  const Strict strict;
  CHECK(t.answer("f", {Dense::of({1}, {1})}) == 1);
  CHECK(t.answer("f", {csr({1, 2, 3, 4})}) == 2);
  for (int i = 0; i < 2; ++i) {
    const auto f = [&] { t.answer("f", {packed(Dense::of({2, 2}, {1, 0, 0, 2}), "csc")}); };
    CHECK(has(error_of(f),
              "strict: f(csc) -> keep-all/dense: no implementation for these layouts; "
              "converts csc to csr"));
    CHECK(fault_of(f) == Fault::check);
  }
}

TEST_CASE("dispatch plans are cached until an implementation is added") {
  Table t;
  t.all.add({"f", {"dense"}, {dense_out}}, says(1));
  const auto first = t.all.plan({"f", {"csr"}});
  CHECK(t.all.plan({"f", {"csr"}}) == first);
  t.all.add({"f", {"csr"}, {dense_out}}, says(2));
  CHECK(first->kind == DispatchKind::dense);
  CHECK(t.all.plan({"f", {"csr"}})->kind == DispatchKind::exact);
  CHECK(t.answer("f", {csr({1, 2, 3, 4})}) == 2);
}

TEST_CASE("a variadic implementation serves one or more inputs") {
  Table t;
  t.all.add({"f", {"dense", any::more}, {dense_out}}, says(1));
  const Dense d = Dense::of({1}, {1});
  CHECK(t.answer("f", {d}) == 1);
  CHECK(t.answer("f", {d, d, d}) == 1);
  CHECK(has(t.plan("f", {"dense", "csr"}), "dense with masks"));
  const std::vector<Tensor> many(60, d);
  CHECK(t.answer("f", many) == 1);
  CHECK(error_of([&] { t.answer("f", std::vector<Tensor>{}); }) != "");
}

TEST_CASE("an external sparsifier selects from the whole result of the inline sparsifier") {
  Table t;
  // Writes the values that its inline sparsifier keeps as csr.
  t.all.add({"f", {"dense"}, {{any::streaming, "csr"}}}, [](const Call& c) -> Outputs {
    const Dense x = c.in[0].to_dense();
    return {registry().pack(x, c.out().inline_by.select(x), c.out().tmp)};
  });
  const auto by = [](const char* text) { return registry().sparsifier(Spec::parse(text)); };
  const OutFormat format{by("threshold:at=3"), Spec("csr"), by("magnitude:sparsity=0.75"),
                         Spec("coo")};
  const Tensor in[] = {Dense::of({2, 4}, {1, -2, 3, -4, 5, -6, 7, -1})};
  const OutFormat* formats[] = {&format};
  const Tensor y = *t.all.run("f", {in, formats, {}})[0];
  CHECK(y.layout() == "coo");
  CHECK(ones_of(y.stored()) == std::vector<int>{0, 0, 0, 0, 0, 1, 1, 0});
}

TEST_CASE("implementations that return the wrong layout or number of outputs are rejected") {
  Table t;
  const OutFormat format = OutFormat::fused(KeepAll{}, Spec("csr"));
  t.all.add({"f", {"dense"}, {{"keep-all", "csr"}}}, says(1));
  CHECK(error_of([&] { t.answer("f", {Dense::of({1}, {1})}, format); }) ==
        "f: the implementation returned the layout dense, expected csr");
  t.all.add({"g", {"dense"}, {dense_out}}, [](const Call&) { return Outputs{}; });
  CHECK(error_of([&] { t.answer("g", {Dense::of({1}, {1})}); }) ==
        "g: the implementation returned 0 outputs, expected 1");
}
