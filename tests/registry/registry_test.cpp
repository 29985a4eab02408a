// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/registry/registry.h"

#include <doctest/doctest.h>

#include "libsten/core/sparsify/streaming.h"
#include "tests/support/parts.h"

using namespace sten;
using namespace sten::testing;

TEST_CASE("the registry contains the built-in layouts and sparsifiers") {
  std::vector<std::string> layouts, sparsifiers;
  for (const auto& e : registry().layouts()) layouts.push_back(e.name);
  for (const auto& e : registry().sparsifiers()) sparsifiers.push_back(e.name);
  for (const char* name : {"dense", "masked", "bitmask", "csr", "bcsr", "nm", "nmg"})
    CHECK(std::count(layouts.begin(), layouts.end(), name) == 1);
  for (const char* name :
       {"keep-all", "random", "threshold", "nm", "magnitude", "nmg", "same-pattern"})
    CHECK(std::count(sparsifiers.begin(), sparsifiers.end(), name) == 1);
}

TEST_CASE("unknown names and keys are rejected, and similar names are suggested") {
  const auto layout = [](const char* spec) {
    return error_of([&] { registry().check_layout(Spec::parse(spec)); });
  };
  CHECK(has(layout("csrr"), "unknown layout 'csrr', did you mean 'csr'?"));
  CHECK(has(layout("nm:n=2,m=4,axes=1"), "has no key 'axes', did you mean 'axis'?"));
  CHECK(has(layout("dense:n=1"), "takes no keys"));
  CHECK(layout("csr:dims=1.2") == "");
  const auto sparsifier = [](const char* spec) {
    return error_of([&] { registry().sparsifier(Spec::parse(spec)); });
  };
  CHECK(has(sparsifier("magnitute:sparsity=0.5"), "did you mean 'magnitude'?"));
  CHECK(has(sparsifier("keep-all:x=1"), "takes no keys"));
  CHECK(fault_of([] { registry().sparsifier(Spec("banana")); }) == Fault::usage);
}

TEST_CASE("part names of a layout have the order of its saved parts") {
  CHECK(registry().part_names("csr") == std::vector<std::string>{"ptr", "index", "values"});
  CHECK(registry().part_names("nmg") == std::vector<std::string>{"values", "index"});
  CHECK(registry().part_names("dense") == std::vector<std::string>{"values"});
  for (const auto& [name, example] : registry().layouts()) {
    const Stored s =
        registry().pack(Dense::zeros(DType::F32, {4, 8}), Mask::none({4, 8}), example).save();
    std::vector<std::string> names;
    for (const Part& p : s.parts) names.push_back(p.name);
    std::vector<std::string> needed = registry().part_names(name);
    std::erase_if(needed, [&, &of = name](const std::string& p) {
      return registry().is_optional_part(of, p);
    });
    CHECK(names == needed);
  }
}

TEST_CASE("a canonical spec has its keys in the order of the layout") {
  const auto canonical = [](const char* spec) {
    return registry().canonical(Spec::parse(spec)).str();
  };
  CHECK(canonical("nmg:axis=1,g=4,m=10,n=1") == "nmg:n=1,m=10,g=4,axis=1");
  CHECK(canonical("nm:dims=1.0,m=4,n=2") == "nm:n=2,m=4,dims=1.0");
  CHECK(canonical("csr") == "csr");
  CHECK(has(error_of([&] { canonical("nm:n=2"); }), "missing 'm'"));
}

TEST_CASE("only n:m and n:m:g store fillers") {
  for (const auto& [name, example] : registry().layouts()) {
    const Tensor t = registry().pack(Dense::zeros(DType::F32, {4, 8}), Mask::none({4, 8}), example);
    CHECK(t.has_fillers() == (name == "nm" || name == "nmg" || name == "nmgv"));
    if (name != "dense") CHECK((t.stored().count() > 0) == t.has_fillers());
  }
}

TEST_CASE("registries are independent, and registering a name again replaces its entry") {
  Registry r;
  CHECK(r.layouts().empty());
  r.add_layout<Dense>();
  CHECK(r.layouts().size() == 1);
  r.add_sparsifier("half", Spec("half"), [](const Spec&) { return KeepAll{}; });
  r.add_sparsifier("half", Spec("half"), [](const Spec&) { return RandomFraction{1.0, 0}; });
  const Dense x = Dense::of({3}, {1, 2, 3});
  CHECK(r.sparsifier(Spec("half")).select(x).count() == 0);
  CHECK(r.sparsifiers().size() == 1);
  CHECK(fault_of([&] { registry().sparsifier(Spec("half")); }) == Fault::usage);
}

TEST_CASE("conversion preserves stored zeros, and fails if the layout cannot hold them") {
  const Dense x = Dense::of({1, 4}, {0, 2, 0, 0});
  const Tensor a = packed(x, mask_of({1, 4}, {1, 1, 0, 0}), "masked");
  for (const char* to : {"bitmask", "csr", "nm:n=2,m=4"}) {
    CAPTURE(to);
    const Tensor b = convert(a, Spec::parse(to));
    CHECK(ones_of(b.stored()) == std::vector<int>{1, 1, 0, 0});
    CHECK(same_bits(b.to_dense(), x));
  }
  CHECK(has(error_of([&] { convert(a, Spec::parse("nm:n=1,m=4")); }),
            "cannot hold 2 kept positions in the block of 4"));
}
