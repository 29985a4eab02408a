// SPDX-License-Identifier: Apache-2.0
// Laws of every operator on every registered layout, whatever the dispatch.
#include <doctest/doctest.h>

#include <map>

#include "libsten/compute/ops/common/operators.h"
#include "libsten/core/base/log.h"
#include "libsten/core/registry/builtin.h"
#include "libsten/core/sparsify/magnitude.h"
#include "tests/autograd/operator_cases.h"
#include "tests/product/sparse_tensors.h"
#include "tests/support/strict.h"

using namespace sten;
using namespace sten::testing;

namespace {

// No warnings on the test's output; they are expected.
struct Quiet {
  Quiet() { set_log_sink(nullptr); }
  ~Quiet() {
    set_log_sink([](const std::string& t) { std::fputs((t + "\n").c_str(), stderr); });
  }
};
// Records the operators of this thread until the end of the scope.
struct Log {
  std::vector<std::string> plans;
  Log() { Operators::log_plans(&plans); }
  ~Log() { Operators::log_plans(nullptr); }
};

// An operator's case with one of its inputs in a sparse layout.
struct LayoutCase {
  const OperatorCase& c;
  Spec layout;
  std::size_t i;
  std::vector<Tensor> in;

  Signature signature() const {
    Signature s{c.op, {}, {{}}};
    for (const Tensor& t : in) s.in.push_back(t.layout_name());
    return s;
  }
};

template <class F>
void for_each_case(F&& f) {
  Dice dice(1);
  for (const OperatorCase& c : operator_cases()) {
    const std::vector<Tensor> dense = inputs_of(c, DType::F32);
    for (std::size_t i = 0; i < dense.size(); ++i) {
      if (c.in[i].below || c.in[i].shape.size() < 2) continue;
      for (const auto& layout : registry().layouts()) {
        if (layout.name == "dense") continue;
        LayoutCase l{c, layout.spec, i, dense};
        l.in[i] = sparse_tensor(dice, dense[i].to_dense(), layout.spec);
        CAPTURE(std::string(c.op));
        CAPTURE(c.attributes.str());
        CAPTURE(layout.name);
        CAPTURE(i);
        f(l);
      }
    }
  }
}

Walked walk(const OperatorCase& c, const std::vector<Tensor>& from) {
  Tape tape;
  std::vector<Var> in;
  for (const Tensor& x : from) in.push_back(x.dtype() == DType::F32 ? tape.parameter(x) : Var(x));
  const Var y = tape.apply(c.op, in, c.attributes);
  const Tensor dy = inputs_of({c.op, {{y.shape()}}}, DType::F32)[0];
  tape.backward(y, dy);
  Walked out{y.value(), dy, {}};
  for (const Var& x : in) out.dx.push_back(x.grad());
  return out;
}

// Sums of at most 23 products in float32, in another order, up to three in a row.
void check_near(const Tensor& got, const Dense& wanted) {
  const std::vector<double> a = doubles(got), b = doubles(wanted);
  REQUIRE(got.shape() == wanted.extents);
  CHECK(furthest(a, b) <= 1e-5);
}

}  // namespace

TEST_CASE("operators on any sparse layout match dense, forward and backward") {
  const Quiet quiet;
  std::map<DispatchKind, int> forward, backward;
  for_each_case([&](const LayoutCase& l) {
    std::vector<Tensor> dense = l.in;
    dense[l.i] = l.in[l.i].to_dense();
    ++forward[operators().plan(l.signature())->kind];
    const Log log;
    const Walked got = walk(l.c, l.in);
    for (const std::string& text : log.plans) {
      if (!has(text, ".grad(")) continue;
      ++backward[has(text, ": exact")                              ? DispatchKind::exact
                 : has(text, ": no impl") && has(text, "converts") ? DispatchKind::converted
                                                                   : DispatchKind::dense];
    }
    const Walked wanted = walk(l.c, dense);
    check_near(got.y, wanted.y.to_dense());
    for (std::size_t k = 0; k < l.in.size(); ++k) {
      REQUIRE(got.dx[k].has_value() == wanted.dx[k].has_value());
      if (!got.dx[k]) continue;
      const Dense full = wanted.dx[k]->to_dense();
      CHECK(got.dx[k]->spec() == l.in[k].spec());
      check_near(*got.dx[k], k == l.i ? masked_by(full, l.in[k].stored()) : full);
    }
  });
  CHECK(forward[DispatchKind::exact] > 0);
  CHECK(forward[DispatchKind::dense] > 0);
  CHECK(backward[DispatchKind::exact] > 0);
  CHECK(backward[DispatchKind::dense] > 0);
}

TEST_CASE("strict mode fails for exactly the operator calls that would fall back") {
  const Quiet quiet;
  int fallbacks = 0;
  for_each_case([&](const LayoutCase& l) {
    std::string fallback;
    {
      const Log log;
      apply(l.c.op, l.in, l.c.attributes);
      for (const std::string& text : log.plans)
        if (!has(text, ": exact") && fallback.empty()) fallback = "strict: " + text;
    }
    const Strict strict;
    CHECK(error_of([&] { apply(l.c.op, l.in, l.c.attributes); }) == fallback);
    fallbacks += !fallback.empty();
  });
  CHECK(fallbacks > 0);
}

TEST_CASE("products of csr of rank 3 or F64 fall back to dense, and the plan states the reason") {
  Dice dice(7);
  const Quiet quiet;
  const Tensor stack = registry().pack(normals(dice, {2, 3, 5}), Mask::all({2, 3, 5}), Spec("csr"));
  const Tensor x = normals(dice, {5, 4});
  const Dense wanted = matmul(Tensor(stack.to_dense()), x).to_dense();
  const Log log;
  check_near(matmul(stack, x), wanted);
  CHECK(log.plans.at(1) ==
        "matmul(csr, dense) -> keep-all/dense: product: the sparse matrix must be an F32 matrix, "
        "got F32 [2, 3, 5]; dense with masks, matmul(dense, dense) -> keep-all/dense");
  // Sparse products are there in F32 only.
  const Tensor wide = Dense::zeros(DType::F64, {3, 5});
  const Tensor narrow = registry().pack(wide.to_dense(), Mask::none({3, 5}), Spec("csr"));
  CHECK(linear(wide, narrow).shape() == Shape{3, 3});
  CHECK(has(log.plans.back(),
            "the sparse matrix must be an F32 matrix, got F64 [3, 5]; dense with masks"));
}

TEST_CASE("zero-preserving unary operators keep every layout and its positions") {
  const Strict strict;
  Dice dice(2);
  std::vector<std::string_view> ops{"identity"};
  for (const UnaryRow& row : unary_rows())
    if (row.is_zero_at_zero) ops.push_back(row.name);
  for (const std::string_view op : ops)
    for (const auto& layout : registry().layouts()) {
      const Tensor x = layout.name == "dense"
                           ? Tensor(normals(dice, {8, 12}))
                           : sparse_tensor(dice, normals(dice, {8, 12}), layout.spec);
      CAPTURE(std::string(op));
      CAPTURE(layout.name);
      const OutFormat same = OutFormat::fused(KeepAll{}, x.spec());
      const Tensor y = apply(op, {x}, {}, same);
      CHECK(y.spec() == x.spec());
      if (layout.name != "dense") CHECK(same_mask(y.stored(), x.stored()));
      check_near(y, apply(op, {x.to_dense()}).to_dense());
    }
}

TEST_CASE("the sum of two sparse tensors with keep-all stores the union of their positions") {
  Dice dice(3);
  const Strict strict;
  for (const char* in : {"csr", "csc"})
    for (const char* to : {"csr", "csc", "coo", "bitmask", "bcsr:h=2,w=2", "masked"}) {
      const Dense x = normals(dice, {9, 13}), y = normals(dice, {9, 13});
      const Mask p = random_mask(dice, x.extents, 0.3), q = random_mask(dice, x.extents, 0.3);
      const Tensor a = registry().pack(x, p, Spec(in)), b = registry().pack(y, q, Spec(in));
      const Tensor sum = add(a, b, OutFormat::fused(KeepAll{}, Spec::parse(to)));
      Mask either = p;
      for (Index i = 0; i < either.size(); ++i) either.set(i, p[i] || q[i]);
      CHECK(same_mask(sum.stored(), either));
      check_near(sum, add(Tensor(a.to_dense()), Tensor(b.to_dense())).to_dense());
      // A kept zero stays: x + (-x).
      const Tensor none = add(a, scale(a, -1, OutFormat::fused(KeepAll{}, Spec(in))),
                              OutFormat::fused(KeepAll{}, Spec::parse(to)));
      CHECK(same_mask(none.stored(), p));
    }
}

TEST_CASE("plan texts describe exact, converted and dense dispatch") {
  const auto plan = [](Signature s) { return operators().plan(s)->text; };
  CHECK(plan({"linear", {"dense", "nmg"}}) == "linear(dense, nmg) -> keep-all/dense: exact");
  CHECK(plan({"add", {"csr", "coo"}, {{"keep-all", "csr"}}}) ==
        "add(csr, coo) -> keep-all/csr: no implementation for these layouts; converts coo to csr "
        "(cost 1) for add(csr, csr) -> keep-all/csr");
  CHECK(plan({"matmul", {"nmg", "csr"}}) ==
        "matmul(nmg, csr) -> keep-all/dense: no implementation for these layouts; converts nmg to "
        "dense (cost 8) for matmul(dense, csr) -> keep-all/dense");
  CHECK(plan({"softmax", {"csr"}}) ==
        "softmax(csr) -> keep-all/dense: no implementation for these layouts; dense with masks, "
        "softmax(dense) -> keep-all/dense");
  const Signature materializing{"linear", {"dense", "csr"}, {{Magnitude{}, "csr"}}};
  CHECK(plan(materializing) ==
        "linear(dense, csr) -> magnitude/csr: no implementation for these layouts; takes "
        "linear(dense, csr) -> keep-all/dense, and its dense result is sparsified after that");
}
