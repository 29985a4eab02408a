// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/tensor/layout.h"

#include <doctest/doctest.h>

#include "libsten/core/tensor/tensor.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

// Another type with the name of Sample.
struct Namesake : Dense {
  static constexpr const char* name = "sample";
  static Namesake pack(const Dense& x, const Mask&, const Spec&) { return {x}; }
};

// A field of every kind that parts() can name.
struct Sample {
  static constexpr const char* name = "sample";
  Shape extents;
  Index k = 0, axis = 1;
  Dims dims;
  Array<std::uint16_t> index;  // [k, 2]
  Array<std::uint8_t> extra;   // 1-D
  Values values;
  std::optional<Array<std::int32_t>> order;  // [k]

  static void parts(auto& self, auto&& f) {
    f("shape", self.extents);
    f("k", self.k);
    f("axis", self.axis, Index{1});
    f("dims", self.dims);
    f("index", self.index, Shape{self.k, 2});
    f("extra", self.extra);
    f("values", self.values);
    f("order", self.order, Shape{self.k});
  }
  const Shape& shape() const { return extents; }
  Dense to_dense() const { return {extents, values}; }
  static Sample pack(const Dense& x, const Mask& keep, const Spec& spec) {
    check_same_shape(x, keep);
    const Index k = spec.integer("k");
    return {x.extents, k, spec.integer("axis", 1), {}, Array<std::uint16_t>(2 * k), {5},
            x.values,  {}};
  }
};

Stored example() {
  return save(Sample::pack(Dense::of({2}, {1, 2}), Mask::all({2}), Spec::parse("sample:k=1")));
}

// The error when the example is loaded after a change.
template <class F>
std::string after(F change) {
  Stored s = example();
  change(s);
  return error_of([&] { load<Sample>(s); });
}

}  // namespace

TEST_CASE("saving writes the layout, the parameters and the parts in order") {
  Sample l = Sample::pack(Dense::of({2}, {1, 2}), Mask::all({2}), Spec::parse("sample:k=1"));
  CHECK(save(l).layout.str() == "sample:k=1");
  l.axis = 0;
  l.dims = Dims::parse("1.2");
  const Stored s = save(l);
  CHECK(s.layout.str() == "sample:k=1,axis=0,dims=1.2");
  CHECK(s.shape == Shape{2});
  CHECK(s.dtype == DType::F32);
  REQUIRE(s.parts.size() == 3);
  CHECK((s.parts[0].name == "index" && s.parts[0].dtype == DType::U16));
  CHECK(s.parts[0].shape == Shape{1, 2});
  CHECK((s.parts[1].name == "extra" && s.parts[1].dtype == DType::U8));
  CHECK((s.parts[2].name == "values" && s.parts[2].dtype == DType::F32));
  CHECK(s.parts[2].shape == Shape{2});
  CHECK(s.parts[2].bytes.data() == l.values.bytes().data());
}

TEST_CASE("an optional part is saved only if present, and is checked when loaded") {
  Sample l = load<Sample>(example());
  CHECK(!l.order);
  l.order = Array<std::int32_t>{7};
  const Stored s = save(l);
  REQUIRE(s.parts.size() == 4);
  CHECK((s.parts[3].name == "order" && s.parts[3].dtype == DType::I32));
  CHECK(s.parts[3].shape == Shape{1});
  CHECK((*load<Sample>(s).order)[0] == 7);
  Stored wrong = s;
  wrong.parts[3].dtype = DType::F32;
  CHECK(has(error_of([&] { load<Sample>(wrong); }), "'order' is F32, expected I32"));
  wrong = s;
  wrong.parts[3].shape = {1, 1};
  CHECK(has(error_of([&] { load<Sample>(wrong); }), "'order' has shape [1, 1], expected [1]"));
}

TEST_CASE("loading restores every field for any order of the parts") {
  Stored s = example();
  s.layout = Spec::parse("sample:dims=1.2,axis=0,k=1");
  std::reverse(s.parts.begin(), s.parts.end());
  const Sample l = load<Sample>(s);
  CHECK((l.k == 1 && l.axis == 0 && l.dims.str() == "1.2"));
  CHECK(l.index.size() == 2);
  CHECK(l.extra[0] == 5);
  CHECK(floats(l.to_dense()) == std::vector<float>{1, 2});
  CHECK(l.values.bytes().data() == s.parts[0].bytes.data());
}

TEST_CASE("loading rejects missing and unknown parts and invalid parameters by name") {
  CHECK(has(after([](Stored& s) { s.parts.pop_back(); }), "missing part 'values'"));
  CHECK(has(after([](Stored& s) { s.parts[0].name = "indices"; }), "missing part 'index'"));
  CHECK(has(after([](Stored& s) {
              s.parts.push_back({"scale", DType::F32, {0}, {}});
            }),
            "unknown part 'scale'"));
  CHECK(has(after([](Stored& s) { s.layout = Spec("sample"); }), "missing 'k'"));
  CHECK(has(after([](Stored& s) { s.layout.set("k", std::string("x")); }), "expected an integer"));
  CHECK(has(after([](Stored& s) { s.layout.set("dims", std::string("1.1")); }), "dims=1.1"));
}

TEST_CASE("loading rejects parts of the wrong dtype") {
  CHECK(
      has(after([](Stored& s) { s.parts[0].dtype = DType::I16; }), "'index' is I16, expected U16"));
  CHECK(has(after([](Stored& s) { s.parts[2].dtype = DType::I32; }), "'values' is I32"));
  CHECK(has(after([](Stored& s) { s.dtype = DType::F64; }), "the tensor is F64"));
  CHECK(has(after([](Stored& s) {
              s.dtype = s.parts[2].dtype = DType::F4;
              s.parts[2].shape = {16};
            }),
            "F4"));
}

TEST_CASE("loading rejects parts of the wrong shape") {
  CHECK(has(after([](Stored& s) { s.parts[0].shape = {2, 1}; }), "[2, 1]"));
  CHECK(has(after([](Stored& s) { s.layout.set("k", 2); }), "expected [2, 2]"));
  CHECK(has(after([](Stored& s) { s.parts[1].shape = {1, 1}; }), "'extra' has shape [1, 1]"));
  CHECK(has(after([](Stored& s) { s.parts[2].shape = {2, 1}; }), "'values' has shape [2, 1]"));
  CHECK(has(after([](Stored& s) { s.parts[1].shape = {}; }), "'extra' has shape []"));
}

TEST_CASE("loading rejects a part whose bytes do not match its shape") {
  CHECK(has(after([](Stored& s) { s.parts[0].bytes = {}; }), "'index' of shape [1, 2]"));
  CHECK(has(after([](Stored& s) { s.parts[1].shape = {2}; }), "'extra'"));
  CHECK(has(after([](Stored& s) { s.parts[2].bytes = Array<std::byte>(7); }), "7 bytes"));
  CHECK(after([](Stored& s) { s.parts[2].shape = {Index{1} << 62}; }) != "");
  CHECK(after([](Stored& s) { s.parts[2].shape = {-1}; }) != "");
}

TEST_CASE("reading a tensor as another type of the same name is rejected") {
  const Tensor t = Sample::pack(Dense::of({2}, {1, 0}), Mask::all({2}), Spec::parse("sample:k=3"));
  CHECK(has(error_of([&] { t.as<Namesake>(); }), "another type of the same name"));
  CHECK(fault_of([&] { t.as<Namesake>(); }) == Fault::usage);
}

TEST_CASE("a tensor holds any layout and returns it only as its own type") {
  const Tensor t = Sample::pack(Dense::of({2}, {1, 0}), Mask::all({2}), Spec::parse("sample:k=3"));
  CHECK(t.layout() == "sample");
  CHECK(t.shape() == Shape{2});
  CHECK(t.as<Sample>().k == 3);
  CHECK(fault_of([&] { t.as<Dense>(); }) == Fault::usage);
  CHECK(t.bytes() == 3 * 2 * 2 + 1 + 2 * 4);
  CHECK(t.padding() == 0);
  CHECK(ones_of(t.stored()) == std::vector<int>{1, 0});
  const Tensor copy = t;
  CHECK(&copy.as<Sample>() == &t.as<Sample>());
}
