// SPDX-License-Identifier: Apache-2.0
// A built-in operator gives the same bits whether an external sparsifier runs inline or afterwards.
#include <doctest/doctest.h>

#include <span>

#include "libsten/compute/ops/common/operators.h"
#include "tests/autograd/operator_cases.h"
#include "tests/support/parts.h"
#include "tests/support/warnings.h"

using namespace sten;
using namespace sten::testing;

namespace {

struct External {
  const char *by, *layout;
};
constexpr External externals[] = {{"threshold:at=0.7", "csr"},
                                  {"random:fraction=0.5,seed=3", "coo"},
                                  {"nm:n=1,m=4", "csr"},
                                  {"threshold:at=0.7", "dense"},
                                  {"relu", "masked"},
                                  {"nm:n=2,m=4", "bitmask"},
                                  {"threshold:at=0.7", "bcsr:h=2,w=2"}};

OutFormat format_of(const External& e) {
  return OutFormat::after(sparsifier(e.by), Spec::parse(e.layout));
}

// Whether y has the bits of the dense result, sparsified.
void check_sparsified(const Tensor& y, const Tensor& dense, const OutFormat& format) {
  CHECK(same_parts(y.save(), sparsify(dense, format.external, format.layout).save()));
}

// Inputs of products large enough for several tiles.
const std::vector<OperatorCase>& tiled_cases() {
  static const std::vector<OperatorCase> all{
      {"linear", {{{700, 130}}, {{150, 130}}, {{150}}}},
      {"linear", {{{3, 400, 70}}, {{90, 70}}}},
      {"matmul", {{{500, 96}}, {{96, 210}}}},
      {"matmul", {{{6, 120, 33}}, {{6, 33, 140}}}},
      {"conv",
       {{{3, 40, 41, 5}}, {{16, 5, 3, 3}}, {{16}}},
       Attributes().set("pads", List{1, 1, 1, 1})},
      {"conv-transpose", {{{3, 20, 21, 8}}, {{8, 3, 3, 6}}}},
      {"attention", {{{4, 90, 64}}, {{4, 90, 64}}, {{4, 90, 64}}}, Attributes().set("heads", 4)},
      {"softmax", {{{300, 200}}}},
      {"layer-norm", {{{300, 200}}, {{200}}, {{200}}}},
      {"gelu", {{{300, 200}}}},
      {"add", {{{300, 200}}, {{200}}}}};
  return all;
}

// The gradients of floating-point inputs of rank 2 or more in a format.
std::vector<std::optional<Tensor>> gradients_in(const OperatorCase& c,
                                                const std::vector<Tensor>& in,
                                                const OutFormat& format) {
  Tape tape;
  std::vector<Var> parameters;
  for (const Tensor& x : in)
    parameters.push_back(x.dtype() != DType::F32 ? Var(x)
                         : x.shape().size() < 2  ? tape.parameter(x, OutFormat::dense())
                                                 : tape.parameter(x, format));
  const Var y = tape.apply(c.op, parameters, c.attributes);
  tape.backward(y, inputs_of({c.op, {{y.shape()}}}, DType::F32)[0]);
  std::vector<std::optional<Tensor>> all;
  for (std::size_t i = 0; i < in.size(); ++i)
    all.push_back(in[i].shape().size() < 2 ? std::nullopt : parameters[i].grad());
  return all;
}

// Returns the number of operators that ran with an external sparsifier inline.
std::size_t check_cases(const std::vector<OperatorCase>& cases, std::span<const External> all) {
  std::vector<std::string> plans;
  for (const OperatorCase& c : cases) {
    const std::vector<Tensor> in = inputs_of(c, DType::F32);
    const Tensor y = apply(c.op, in, c.attributes);
    const auto dense = gradients_in(c, in, OutFormat::dense());
    for (const External& e : all) {
      CAPTURE(c.op);
      CAPTURE(c.attributes.str());
      CAPTURE(std::string(e.by));
      CAPTURE(std::string(e.layout));
      const OutFormat format = format_of(e);
      Operators::log_plans(&plans);
      if (y.shape().size() >= 2 && y.dtype() == DType::F32)
        check_sparsified(apply(c.op, in, c.attributes, format), y, format);
      const auto got = gradients_in(c, in, format);
      Operators::log_plans(nullptr);
      for (std::size_t i = 0; i < in.size(); ++i)
        if (got[i]) check_sparsified(*got[i], *dense[i], format);
    }
  }
  return static_cast<std::size_t>(
      std::ranges::count_if(plans, [](const std::string& p) { return has(p, " moved inline"); }));
}

}  // namespace

TEST_CASE("inline external sparsifiers are bit-identical to sparsifying afterwards") {
  const Warnings quiet;
  CHECK(check_cases(operator_cases(), std::span(externals).first(3)) > 100);
}

TEST_CASE("inline external sparsifiers are bit-identical for several tiles on two threads") {
  const Warnings quiet;
  const Threads threads(2);
  const std::size_t calls = tiled_cases().size() * 4;
  CHECK(check_cases(tiled_cases(), std::span(externals).first(4)) > calls);
}

TEST_CASE("external sparsifiers of sparse products are bit-identical to sparsifying afterwards") {
  const Warnings quiet;
  Dice dice(6);
  for (const char* by : {"magnitude:sparsity=0.75", "nmg:n=1,m=4,g=4", "nm:n=2,m=4"})
    for (const External& e : externals) {
      CAPTURE(std::string(by));
      CAPTURE(std::string(e.by));
      CAPTURE(std::string(e.layout));
      const Spec sparsity = Spec::parse(by);
      const Spec layout = sparsity.is("magnitude") ? Spec("csr") : sparsity;
      const OutFormat format = format_of(e);
      for (const Index tokens : {3, 17, 300}) {
        CAPTURE(tokens);
        const Tensor x = normals(dice, {tokens, 64});
        const Tensor w = registry().prune(normals(dice, {96, 64}), sparsity, layout);
        check_sparsified(linear(x, w, format), linear(x, w), format);
        const Tensor right = normals(dice, {64, tokens});
        check_sparsified(matmul(w, right, format), matmul(w, right), format);
      }
    }
}
