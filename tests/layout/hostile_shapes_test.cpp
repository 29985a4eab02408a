// SPDX-License-Identifier: Apache-2.0
// Layouts, shapes and dtypes that a file can claim take bounded time and memory.
#include <doctest/doctest.h>

#include "libsten/core/sparsify/streaming.h"
#include "tests/support/parts.h"

using namespace sten;
using namespace sten::testing;

namespace {

// A stored tensor that claims `shape`, whose first parts claim `part_shapes` and have no bytes.
Stored claim(const char* spec, const Shape& shape, const std::vector<Shape>& part_shapes) {
  Stored s = packed(Dense::zeros(DType::F32, {0, 4}), spec).save();
  s.shape = shape;
  for (std::size_t i = 0; i < part_shapes.size(); ++i) {
    s.parts[i].shape = part_shapes[i];
    s.parts[i].bytes = {};
  }
  return s;
}

}  // namespace

TEST_CASE("unknown layouts, unknown keys and parts of another layout are rejected") {
  Stored s = packed(Dense::of({1, 2}, {1, 0}), "bitmask").save();
  s.layout = Spec("bitmap");
  CHECK(has(error_of([&] { registry().load(s); }),
            "unknown layout 'bitmap', did you mean 'bitmask'?"));
  s.layout = Spec::parse("bitmask:m=4");
  CHECK(has(error_of([&] { registry().load(s); }), "takes no keys"));
  s.layout = Spec("csr");
  CHECK(error_of([&] { registry().load(s); }) != "");
  s.layout = Spec("dense");
  CHECK(error_of([&] { registry().load(s); }) != "");
}

TEST_CASE("empty tensors that claim huge shapes load in bounded time or are rejected") {
  const Index huge = Index{1} << 58;
  for (const Shape& shape : {Shape{huge, 0}, Shape{0, huge}}) {
    CAPTURE(to_string(shape));
    const auto loaded = [&](const char* spec, const std::vector<Shape>& parts) {
      try {
        const Tensor t = registry().load(claim(spec, shape, parts));
        CHECK(t.to_dense().size() == 0);
        CHECK(t.stored().count() == 0);
        CHECK(t.padding() >= 0);
      } catch (const Error&) {
      }
    };
    loaded("dense", {shape});
    loaded("masked", {shape, {0}});
    loaded("bitmask", {{0}, {0}});
    loaded("csr", {{0}, {0}, {0}});
    loaded("bcsr:h=4,w=4", {{0}, {0}, {0, 4, 4}});
    const Index rows = shape[0], cols = shape[1];
    loaded("nm:n=2,m=4", {{rows, cols / 4, 2}, {rows, cols / 4 / 2}});
    loaded("nm:n=2,m=4,axis=0", {{cols, rows / 4, 2}, {cols, rows / 4 / 2}});
    loaded("nmg:n=1,m=4,g=4", {{rows / 4, cols / 16, 4, 4, 1}, {rows / 4, cols / 16, 4, 4}});
    loaded("nmgv:n=1,m=4,g=4,v=4",
           {{rows / 16, cols / 32, 4, 4, 1, 8}, {rows / 16, cols / 32, 4, 4}});
    loaded("nmg:n=1,m=4,g=4,axis=1", {{cols / 4, rows / 16, 4, 4, 1}, {cols / 4, rows / 16, 4, 4}});
  }
  for (const Shape& order : {Shape{0, huge, huge}, Shape{huge, 0, huge}, Shape{huge, huge, 0}})
    for (const char* spec : {"dense", "masked", "bitmask", "csr", "bcsr:h=4,w=4", "nm:n=2,m=4",
                             "nmg:n=1,m=4,g=4", "nmgv:n=1,m=4,g=4,v=4"}) {
      CAPTURE(spec);
      CHECK(has(error_of([&] { registry().load(claim(spec, order, {})); }),
                "expected at most 2^62 elements"));
    }
}

TEST_CASE("empty tensors of huge shapes are pruned, and packed or rejected, in bounded time") {
  const Index huge = Index{1} << 58;
  for (const Shape& shape : {Shape{huge, 0}, Shape{0, huge}, Shape{1 << 30, 0, 1 << 28}}) {
    CAPTURE(to_string(shape));
    const Dense x = Dense::zeros(DType::F32, shape);
    for (const auto& [name, example] : registry().layouts())
      for (const Index axis : {0, 1}) try {
          Spec spec = example;
          if (name == "nm" || name.starts_with("nmg")) spec.set("axis", axis);
          const Tensor t = registry().pack(x, Mask::all(shape), spec);
          CHECK(t.to_dense().size() == 0);
        } catch (const Error&) {
        }
    const Mask had = Mask::all(shape);
    const Sparsifier own{KeepAll{}};
    for (const auto& [name, example] : registry().sparsifiers()) {
      for (const Index axis : {0, 1}) {
        Spec spec = example;
        if (name == "nm" || name.starts_with("nmg")) spec.set("axis", axis);
        CHECK(registry().sparsifier(spec).select(x, {&had, &x, &own}).count() == 0);
      }
    }
  }
}

TEST_CASE("shapes beyond memory are rejected even if the stored parts are small") {
  Stored s = packed(Dense::zeros(DType::F64, {1, 8}), "csr").save();
  s.shape = {1, Index{1} << 61};
  CHECK(has(error_of([&] { registry().load(s).to_dense(); }), "columns"));
  Stored tall = packed(Dense::zeros(DType::F64, {2, 1}), "csr:dims=1.0").save();
  tall.shape = {INT32_MAX, 1};
  CHECK(error_of([&] { registry().load(tall); }) == "");
  const Index wide = Index{1} << 31;
  CHECK(has(error_of([&] { Dense::zeros(DType::F64, {wide, wide}); }), "memory"));
}

TEST_CASE("every layout rejects the sub-byte dtype F4") {
  for (const auto& entry : registry().layouts()) {
    CAPTURE(entry.name);
    Stored s =
        registry().pack(Dense::zeros(DType::U8, {4, 8}), Mask::none({4, 8}), entry.spec).save();
    for (Part& p : s.parts) {
      if (p.name != "values") continue;
      p.dtype = s.dtype = DType::F4;
      p.bytes = Array<std::byte>(p.bytes.size() / 2);
    }
    CHECK(has(error_of([&] { registry().load(s); }), "F4"));
  }
}
