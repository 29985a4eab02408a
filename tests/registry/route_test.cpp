// SPDX-License-Identifier: Apache-2.0
// Routes of conversions and their costs.
#include "libsten/core/registry/route.h"

#include <doctest/doctest.h>

#include "libsten/core/layout/bitmask.h"
#include "libsten/core/layout/coo.h"
#include "libsten/core/registry/builtin.h"
#include "tests/support/parts.h"

using namespace sten;
using namespace sten::testing;

namespace {

std::string kind(const char* from, const char* to) {
  return find_route(registry(), Spec::parse(from), Spec::parse(to)).str();
}
std::string reason(const char* from, const char* to) {
  return find_route(registry(), Spec::parse(from), Spec::parse(to)).reason;
}

// A user-defined layout: values and their offsets in the dense tensor.
struct Flat {
  static constexpr const char* name = "flat";
  Shape extents;
  Array<std::int64_t> at;
  Values values;
  static void parts(auto& self, auto&& f) {
    f("shape", self.extents);
    f("at", self.at);
    f("values", self.values);
  }
  const Shape& shape() const { return extents; }
  Dense to_dense() const { return bitmask().to_dense(); }
  Mask stored() const {
    Mask m = Mask::none(extents);
    for (const Index i : at) m.set(i, true);
    return m;
  }
  Bitmask bitmask() const { return {extents, stored().bits, values}; }
  static Flat of(const Bitmask& b) {
    Flat f{b.extents, Array<std::int64_t>(b.values.size()), b.values};
    const Mask m = b.stored();
    for (Index i = 0, k = 0; i < m.size(); ++i)
      if (m[i]) f.at.mutate()[k++] = i;
    return f;
  }
  static Flat pack(const Dense& x, const Mask& keep, const Spec& spec) {
    return of(Bitmask::pack(x, keep, spec));
  }
};

// Another layout under the name of a built-in one.
struct OtherCsr : Flat {
  static constexpr const char* name = "csr";
  static OtherCsr pack(const Dense& x, const Mask& m, const Spec& s) {
    return {Flat::pack(x, m, s)};
  }
};

}  // namespace

TEST_CASE("a route has the fewest lossless edges, or goes through dense and gives a reason") {
  CHECK(kind("csr", "csc") == "csr -> csc");
  CHECK(kind("csc", "ell") == "csc -> csr -> ell");
  CHECK(kind("bitmask", "coo") == "bitmask -> csr -> coo");
  CHECK(kind("nmg:n=2,m=4,g=2", "csc") == "nmg -> csr -> csc");
  CHECK(kind("coo", "bcsr:h=4,w=4") == "coo -> csr -> bcsr");
  CHECK(kind("csr:dims=1.2", "coo:dims=1.2") == "csr -> coo");
  CHECK(kind("csr", "csr") == "csr");
  CHECK(kind("csr", "dense") == "csr -> dense");

  CHECK(kind("csr", "masked") == "csr -> dense -> masked");
  CHECK(reason("csr", "masked") == "no lossless edges lead from csr to masked");
  CHECK(kind("csr", "coo:dims=1.0") == "csr -> dense -> coo");
  CHECK(reason("csr", "coo:dims=1.0") == "rows and columns become other dimensions");
  CHECK(kind("csr:dims=1.0", "bitmask") == "csr -> dense -> bitmask");
  CHECK(kind("nm:n=1,m=4", "nm:n=2,m=4") == "nm -> dense -> nm");
  CHECK(kind("bcsr:h=4,w=4", "bcsr:h=2,w=8") == "bcsr -> csr -> bcsr");
}

TEST_CASE("a matrix too large for dense is converted along edges") {
  const Index n = 1000000;
  Coo coo;
  coo.extents = {n, n};
  const std::vector<std::int32_t> row{0, 3, 3, 999999}, col{5, 0, 999999, 7};
  coo.row = Array<std::int32_t>(row.size());
  coo.col = Array<std::int32_t>(col.size());
  std::copy(row.begin(), row.end(), coo.row.mutate());
  std::copy(col.begin(), col.end(), coo.col.mutate());
  coo.values = Dense::of({4}, {1, 2, 0, 4}).values;
  coo.loaded();

  Route route;
  const Tensor csc = convert(Tensor(coo), Spec("csc"), &route);
  CHECK(route.str() == "coo -> csc");
  CHECK(numbers<std::int32_t>(csc.save(), "index") == std::vector<std::int32_t>{3, 0, 999999, 3});
  CHECK(numbers<float>(csc.save(), "values") == std::vector<float>{2, 1, 4, 0});
  const Tensor back = convert(csc, Spec("coo"));
  CHECK(same_parts(back.save(), Tensor(coo).save()));
}

TEST_CASE("conversions preserve stored zeros, negative zeros and NaN") {
  const Dense x = Dense::of({2, 3}, {0, -0.0f, NAN, 1, 0, 2});
  const Mask all = Mask::all({2, 3});
  for (const char* from :
       {"csr", "csc", "coo", "ell", "bcsr:h=2,w=2", "bitmask", "nm:n=3,m=3", "nmg:n=2,m=2,g=1"})
    for (const char* to : {"csr", "csc", "coo", "ell", "bcsr:h=2,w=2", "bitmask"}) {
      CAPTURE(from);
      CAPTURE(to);
      const Tensor t = convert(packed(x, all, from), Spec::parse(to));
      CHECK(same_mask(t.stored(), all));
      CHECK(same_bits(t.to_dense(), x));
    }
}

TEST_CASE("routes use the edges registered for a user's layout") {
  Registry r;
  add_builtin(r);
  r.add_layout<Flat>();
  const Spec flat("flat"), csc("csc");
  CHECK(find_route(r, flat, csc).str() == "flat -> dense -> csc");
  r.add_edge<Flat, Bitmask>([](const Flat& x, const Spec&) { return x.bitmask(); });
  r.add_edge<Bitmask, Flat>([](const Bitmask& x, const Spec&) { return Flat::of(x); });
  CHECK(find_route(r, flat, csc).str() == "flat -> bitmask -> csr -> csc");
  CHECK(find_route(r, csc, flat).str() == "csc -> csr -> bitmask -> flat");
  const Dense x = Dense::of({2, 3}, {0, 1, 2, 0, 0, 3});
  const Tensor t = convert(r, r.pack(x, nonzero_mask(x), csc), flat);
  CHECK(t.as<Flat>().at[2] == 5);
  CHECK(same_bits(convert(r, t, csc).to_dense(), x));
}

TEST_CASE("an edge to an unregistered layout is rejected") {
  Registry r;
  r.add_layout<Bitmask>();
  const auto edge = [&] {
    r.add_edge<Bitmask, Flat>([](const Bitmask& x, const Spec&) { return Flat::of(x); });
  };
  CHECK(has(error_of(edge), "unknown layout 'flat'"));
  r.add_layout<Flat>();
  CHECK(error_of(edge) == "");
}

TEST_CASE("replacing a layout by another of the same name removes its edges") {
  Registry r;
  add_builtin(r);
  const Dense x = Dense::of({2, 3}, {0, 1, 2, 0, 0, 3});
  const Tensor before = r.pack(x, nonzero_mask(x), Spec("csr"));
  r.add_layout<OtherCsr>();
  CHECK(find_route(r, Spec("csr"), Spec("csc")).str() == "csr -> dense -> csc");
  CHECK(find_route(r, Spec("bitmask"), Spec("coo")).str() == "bitmask -> dense -> coo");
  const Tensor after = r.pack(x, nonzero_mask(x), Spec("csr"));
  CHECK(same_bits(convert(r, after, Spec("coo")).to_dense(), x));
  CHECK(same_bits(convert(r, before, Spec("coo")).to_dense(), x));
}

TEST_CASE("conversion goes through dense if an intermediate layout cannot hold the tensor") {
  // Too many columns for csr, which is on the way.
  const Tensor t = packed(Dense::zeros(DType::F32, {0, Index{1} << 32}), "bitmask");
  Route route;
  CHECK(has(error_of([&] { convert(t, Spec("csr"), &route); }), "32-bit column indices"));
  CHECK(convert(t, Spec::parse("bcsr:h=1,w=4"), &route).shape() == t.shape());
  CHECK(route.str() == "bitmask -> dense -> bcsr");
  CHECK(has(route.reason, "csr on the way cannot hold it: csr: 4294967296 columns"));
}

TEST_CASE("conversion to ell rejects a too long row before densifying") {
  const Index n = 1000000;
  Coo coo;
  coo.extents = {n, n};
  coo.row = Array<std::int32_t>(100);
  coo.col = Array<std::int32_t>(100);
  for (std::int32_t k = 0; k < 100; ++k) coo.col.mutate()[k] = k;
  coo.values = Values(DType::F32, 100);
  CHECK(has(error_of([&] { convert(Tensor(coo), Spec("ell")); }), "use csr"));
}
