// SPDX-License-Identifier: Apache-2.0
// External sparsifiers that move inline, with operators of the test's own table.
#include <doctest/doctest.h>

#include "libsten/core/dispatch/inlined_plan.h"
#include "tests/support/parts.h"
#include "tests/support/warnings.h"

using namespace sten;
using namespace sten::testing;

namespace {

OutFormat external(const char* by, const char* layout) {
  return OutFormat::after(sparsifier(by), Spec::parse(layout));
}

// An operator "f" that returns its input, inline in every layout or only dense.
struct InlineTable {
  Operators all{registry()};
  std::vector<std::string> inline_by;  // of the calls

  void add(const OutSignature& out) {
    all.add({"f", {"dense"}, {out}}, [this](const Call& call) -> Outputs {
      const OutFormat& f = call.out();
      inline_by.push_back(f.inline_by.spec().str());
      return {sparsify(call.in[0], f.inline_by, f.tmp)};
    });
  }
  std::string plan(const OutFormat& out) {
    const OutFormat* formats[] = {&out};
    const Signature s{"f", {"dense"}, {{out.inline_by, Name(out.tmp.name())}}};
    return inlined_plan(all, s, formats).plan->text;
  }
  Tensor run(const Tensor& x, const OutFormat& out) {
    const OutFormat* formats[] = {&out};
    return *all.run("f", {std::span(&x, 1), formats, {}})[0];
  }
};

const OutSignature plain_out, local_out{Name(any::local), Name(any::layout)};

}  // namespace

TEST_CASE("an external streaming or blocking sparsifier moves inline if the operator supports it") {
  InlineTable t;
  t.add(plain_out);
  t.add(local_out);
  Dice dice(1);
  const Dense x = normals(dice, {6, 8});
  for (const char* by : {"threshold:at=0.5", "random:fraction=0.5,seed=2", "nm:n=1,m=4"}) {
    CAPTURE(by);
    const OutFormat format = external(by, "csr");
    CHECK(t.plan(format) == fmt::format("f(dense) -> {}/csr: exact; external {} moved inline",
                                        sparsifier(by).name().text(), sparsifier(by).spec().str()));
    t.inline_by.clear();
    const Tensor y = t.run(x, format);
    CHECK(t.inline_by == std::vector<std::string>{sparsifier(by).spec().str()});
    CHECK(same_parts(y.save(), sparsify(x, sparsifier(by), Spec("csr")).save()));
  }
}

TEST_CASE("external sparsifiers that cannot run inline stay external") {
  InlineTable t;
  t.add(plain_out);
  t.add(local_out);
  const auto stays = [&](const OutFormat& f) {
    const std::string inline_by(f.inline_by.name().text());
    CHECK(t.plan(f) == fmt::format("f(dense) -> {}/{}: exact", inline_by, f.tmp.name()));
  };
  stays(external("magnitude:sparsity=0.5", "csr"));
  stays(external("nm:n=1,m=4,axis=0", "csr"));  // blocks along columns
  stays(external("keep-all", "csr"));
  stays(OutFormat{sparsifier("relu"), Spec("csr"), sparsifier("threshold:at=0.5"), Spec("csr")});
  stays(
      OutFormat{sparsifier("keep-all"), Spec("csr"), sparsifier("threshold:at=0.5"), Spec("csr")});
}

TEST_CASE("an external sparsifier stays external until an implementation supports it inline") {
  InlineTable t;
  t.add(plain_out);
  const OutFormat format = external("threshold:at=0.5", "csr");
  CHECK(t.plan(format) == "f(dense) -> keep-all/dense: exact");
  const Warnings warnings;
  Dice dice(2);
  const Dense x = normals(dice, {6, 8});
  const Tensor y = t.run(x, format);
  CHECK(t.inline_by == std::vector<std::string>{"keep-all"});
  CHECK(same_parts(y.save(), sparsify(x, format.external, Spec("csr")).save()));
  CHECK(warnings.all.empty());
  // An implementation for this sparsifier only is enough.
  t.add({Name("threshold"), Name("csr")});
  CHECK(has(t.plan(format), "; external threshold:at=0.5 moved inline"));
  CHECK(t.plan(external("relu", "csr")) == "f(dense) -> keep-all/dense: exact");
  CHECK(t.plan(external("threshold:at=0.5", "coo")) == "f(dense) -> keep-all/dense: exact");
}

TEST_CASE("a sparsifier stays external if the inline implementation throws Unsupported") {
  InlineTable t;
  t.add(plain_out);
  t.all.add({"f", {"dense"}, {local_out}},
            [](const Call&) -> Outputs { fail_unsupported("not of these"); });
  const OutFormat format = external("threshold:at=0.5", "csr");
  Dice dice(3);
  const Dense x = normals(dice, {6, 8});
  std::vector<std::string> plans;
  Operators::log_plans(&plans);
  const Tensor y = t.run(x, format);
  Operators::log_plans(nullptr);
  CHECK(plans.back() == "f(dense) -> keep-all/dense: exact");
  CHECK(same_parts(y.save(), sparsify(x, format.external, Spec("csr")).save()));
}

TEST_CASE("external sparsifiers of several outputs move inline independently") {
  InlineTable t;
  t.all.add({"g", {"dense"}, {plain_out, plain_out}}, [](const Call& call) -> Outputs {
    return {call.in[0], call.in[0]};
  });
  t.all.add({"g", {"dense"}, {plain_out, local_out}}, [](const Call& call) -> Outputs {
    return {call.in[0], sparsify(call.in[0], call.out(1).inline_by, call.out(1).tmp)};
  });
  const OutFormat format = external("threshold:at=0.5", "csr");
  const OutFormat* both[] = {&format, &format};
  const OutFormat* second[] = {nullptr, &format};
  const Signature s{"g", {"dense"}, {{}, {}}}, only{"g", {"dense"}, {OutSignature::none(), {}}};
  CHECK(inlined_plan(t.all, s, both).inlined == std::vector<bool>{false, true});
  CHECK(inlined_plan(t.all, only, second).inlined == std::vector<bool>{false, true});
  Dice dice(4);
  const Tensor x = normals(dice, {6, 8});
  const Outputs y = t.all.run("g", {std::span(&x, 1), both, {}});
  for (const auto& one : y)
    CHECK(same_parts(one->save(), sparsify(x, format.external, Spec("csr")).save()));
}
