// SPDX-License-Identifier: Apache-2.0
// Laws of every operator with its output and all gradients in every registered layout, whatever the
// dispatch.
#include <doctest/doctest.h>

#include <map>

#include "libsten/compute/ops/common/operators.h"
#include "libsten/core/base/log.h"
#include "libsten/core/registry/structure.h"
#include "tests/autograd/operator_cases.h"
#include "tests/support/warnings.h"

using namespace sten;
using namespace sten::testing;

namespace {

// A format that the layout can hold: keep-all, or the layout's own sparsifier.
OutFormat format_in(const Spec& layout) {
  if (registry().holds_any_pattern(layout.name())) return OutFormat::fused(KeepAll{}, layout);
  if (is_structure(layout))
    return OutFormat::after(registry().sparsifier(own_sparsifier(layout)), layout);
  return OutFormat::after(KeepAll{}, layout);
}

// f(case, layout, its format) for each case with an output of rank 2 or more.
template <class F>
void each_case_and_layout(F&& f) {
  for (const OperatorCase& c : operator_cases()) {
    const std::vector<Tensor> in = inputs_of(c, DType::F32);
    const Tensor y = apply(c.op, in, c.attributes);
    if (y.shape().size() < 2) continue;
    for (const auto& layout : registry().layouts()) {
      if (layout.name == "dense") continue;
      CAPTURE(std::string(c.op));
      CAPTURE(c.attributes.str());
      CAPTURE(layout.name);
      f(c, in, y, layout.spec, format_in(layout.spec));
    }
  }
}

// The result, or none if the layout cannot hold it, such as unequal rows in ell.
std::optional<Tensor> if_it_fits(const std::function<Tensor()>& f) {
  try {
    return f();
  } catch (const Error& e) {
    if (!has(e.what(), "ell:")) throw;
    return {};
  }
}

// Sums of at most 23 products in float32, in another order.
void check_kept(const Tensor& got, const Tensor& wanted, bool is_all) {
  REQUIRE(got.shape() == wanted.shape());
  const Dense full = wanted.to_dense();
  CHECK(furthest(doubles(got), doubles(is_all ? full : masked_by(full, got.stored()))) <= 5e-6);
}

}  // namespace

TEST_CASE("operators that write any sparse layout match their dense output") {
  const Warnings quiet;
  std::map<std::string, int> held;
  each_case_and_layout([&](const OperatorCase& c, const std::vector<Tensor>& in,
                           const Tensor& wanted, const Spec& layout, const OutFormat& format) {
    const auto y = if_it_fits([&] { return apply(c.op, in, c.attributes, format); });
    if (!y) return;
    ++held[layout.name()];
    CHECK(y->spec().name() == layout.name());
    check_kept(*y, wanted, !is_structure(layout));
  });
  for (const auto& layout : registry().layouts())
    if (layout.name != "dense") CHECK(held[layout.name] > 0);
}

TEST_CASE("backward passes from or to sparse gradients match dense ones") {
  const Warnings quiet;
  each_case_and_layout([&](const OperatorCase& c, const std::vector<Tensor>& in, const Tensor& y,
                           const Spec& layout, const OutFormat& format) {
    const Tensor full = inputs_of({c.op, {{y.shape()}}}, DType::F32)[0];
    const auto dy = if_it_fits([&] {
      return sparsify(full, is_structure(layout) ? format.external : Sparsifier(RandomFraction{}),
                      layout);
    });
    const auto walk = [&](const Tensor& seed, const OutFormat& grad) {
      Tape tape;
      std::vector<Var> p;
      for (const Tensor& x : in)
        p.push_back(x.dtype() != DType::F32 ? Var(x)
                    : x.shape().size() < 2 || grad.is_dense()
                        ? tape.parameter(x, OutFormat::dense())
                        : tape.parameter(x, grad));
      tape.backward(tape.apply(c.op, p, c.attributes), seed);
      std::vector<std::optional<Tensor>> out;
      for (const Var& v : p) out.push_back(v.grad());
      return out;
    };
    if (dy) {
      const auto got = walk(*dy, OutFormat::dense()),
                 wanted = walk(dy->to_dense(), OutFormat::dense());
      for (std::size_t i = 0; i < in.size(); ++i)
        if (wanted[i]) check_kept(*got[i], *wanted[i], true);
    }
    if (layout.is("ell")) return;  // gradients have rows of any lengths
    const auto got = walk(full, format), wanted = walk(full, OutFormat::dense());
    for (std::size_t i = 0; i < in.size(); ++i)
      if (wanted[i]) check_kept(*got[i], *wanted[i], !is_structure(layout));
  });
}
