// SPDX-License-Identifier: Apache-2.0
#include "kernels/block/block.h"

#include <doctest/doctest.h>

#include <numeric>

#include "kernels/block/checked_block.h"

using namespace sten::kernels;

namespace {

// The first report of a checked block on a body with arrays of 8 elements.
template <class Body>
std::string report_on(Body&& body) {
  CheckedBlock b(8, 1 << 10, 1);
  const auto a = b.shared<int>(8), c = b.shared<int>(8);
  b.for_each_thread([&](int t) { a[t] = t, c[t] = 0; });
  body(b, a, c);
  return b.reports().empty() ? "" : b.reports().front();
}

}  // namespace

TEST_CASE("a checked block reports races, writes out of bounds and uninitialized reads") {
  CHECK(report_on([](auto& b, auto a, auto c) {
          b.for_each_thread([&](int t) { c[t] = a[7 - t]; });
          b.for_each_thread([&](int t) { a[t] = a[t] + c[(t + 1) % 8]; });
          b.for_each_thread([&](int t) { b.add(c, t / 4, 1); });
          CHECK(b.read(c, 0) == 7 + 4);
        }) == "");
  CHECK(report_on([](auto& b, auto a, auto) {
          b.for_each_thread([&](int t) { a[t] = a[(t + 1) % 8]; });
        }) != "");
  CHECK(report_on([](auto& b, auto a, auto) { b.for_each_thread([&](int t) { a[0] = t; }); }) ==
        "a write by one thread and a write by another in one phase");
  CHECK(report_on([](auto& b, auto a, auto) {
          b.for_each_thread([&](int t) {
            if (t == 3)
              b.add(a, 0, 1);
            else
              a[t] = a[0];
          });
        }) != "");
  CHECK(report_on([](auto& b, auto a, auto) { b.for_each_thread([&](int t) { a[t + 1] = t; }); }) ==
        "a write beyond an array");
  CHECK(report_on([](auto&, auto a, auto) { a[0] = 1; }) == "a write between phases");
  CHECK(report_on([](auto& b, auto, auto) { b.read(b.template shared<int>(1), 0); }) ==
        "a read of what nobody wrote");
}

TEST_CASE("reduce() is correct for any number of threads of a block") {
  for (const int n : {1, 2, 3, 31, 32, 100}) {
    CheckedBlock b(n, 1 << 12, 5);
    const auto scratch = b.shared<int>(n);
    CHECK(reduce<int>(
              b, scratch, [](int t) { return t + 1; }, std::plus<>()) == n * (n + 1) / 2);
    CHECK(b.reports().empty());
    std::vector<std::byte> memory(1 << 12);
    SerialBlock s(n, memory.data(), memory.size());
    const auto plain = s.shared<int>(n);
    CHECK(reduce<int>(
              s, plain, [](int t) { return -t; }, [](int x, int y) { return std::min(x, y); }) ==
          1 - n);
  }
}
