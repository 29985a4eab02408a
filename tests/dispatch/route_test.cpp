// Which way a conversion goes, and what it costs.
#include "libsten/dispatch/route.h"

#include <doctest/doctest.h>

#include "libsten/layout/coo.h"
#include "tests/support/parts.h"

using namespace sten;
using namespace sten::testing;

namespace {

std::string way(const char* from, const char* to) {
  return find_route(registry(), Spec::parse(from), Spec::parse(to)).str();
}
std::string reason(const char* from, const char* to) {
  return find_route(registry(), Spec::parse(from), Spec::parse(to)).reason;
}

}  // namespace

TEST_CASE("a route is the fewest lossless edges, and says why where there are none") {
  CHECK(way("csr", "csc") == "csr -> csc");
  CHECK(way("csc", "ell") == "csc -> csr -> ell");
  CHECK(way("bitmask", "coo") == "bitmask -> csr -> coo");
  CHECK(way("nmg:n=2,m=4,g=2", "csc") == "nmg -> csr -> csc");
  CHECK(way("coo", "bcsr:h=4,w=4") == "coo -> csr -> bcsr");
  CHECK(way("csr:dims=1.2", "coo:dims=1.2") == "csr -> coo");
  CHECK(way("csr", "csr") == "csr");
  CHECK(way("csr", "dense") == "csr -> dense");

  CHECK(way("csr", "masked") == "csr -> dense -> masked");
  CHECK(reason("csr", "masked") == "no lossless edges lead from csr to masked");
  CHECK(way("csr", "coo:dims=1.0") == "csr -> dense -> coo");
  CHECK(reason("csr", "coo:dims=1.0") == "rows and columns become other dimensions");
  CHECK(way("csr:dims=1.0", "bitmask") == "csr -> dense -> bitmask");
  CHECK(way("nm:n=1,m=4", "nm:n=2,m=4") == "nm -> dense -> nm");
}

TEST_CASE("a matrix too large for dense is converted over edges") {
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
  CHECK(route.str() == "coo -> csr -> csc");
  CHECK(numbers<std::int32_t>(csc.save(), "index") == std::vector<std::int32_t>{3, 0, 999999, 3});
  CHECK(numbers<float>(csc.save(), "values") == std::vector<float>{2, 1, 4, 0});
  const Tensor back = convert(csc, Spec("coo"));
  CHECK(same_parts(back.save(), Tensor(coo).save()));
}

TEST_CASE("zeros, negative zeros and NaN that are stored stay so over every edge") {
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
