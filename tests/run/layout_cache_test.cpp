// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/run/layout_cache.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <optional>

#include "libsten/compute/linalg/dense_gemm.h"
#include "libsten/core/base/error.h"
#include "libsten/core/base/json.h"
#include "libsten/programs/run/model_layouts.h"
#include "libsten/programs/run/plan_report.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

// Sets $STEN_CACHE to a directory until the end of the scope.
class CacheIn {
 public:
  explicit CacheIn(const std::string& directory) {
    if (const char* value = std::getenv("STEN_CACHE")) before_ = value;
    setenv("STEN_CACHE", directory.c_str(), 1);
  }
  ~CacheIn() {
    if (before_)
      setenv("STEN_CACHE", before_->c_str(), 1);
    else
      unsetenv("STEN_CACHE");
  }
  CacheIn(const CacheIn&) = delete;
  CacheIn& operator=(const CacheIn&) = delete;

 private:
  std::optional<std::string> before_;
};

}  // namespace

TEST_CASE("layout times cached with one dense library are found with another dense library") {
  const TempDir dir;
  const CacheIn here(dir / "cache");
  const LayoutTimes times = {{"w", {{"csr", 0.5}, {"dense", 2}}}};
  const DenseLibrary own = own_loop();
  {
    const UseDenseLibrary use(own);
    LayoutCache cache;
    CHECK(cache.times.empty());
    cache.times = times;
    cache.write();
    CHECK(cache.notes.empty());
  }
  const UseDenseLibrary use(dense_libraries().front());
  const LayoutCache cache;
  CHECK(cache.times == times);
  CHECK(cache.notes.empty());
}

TEST_CASE("parse_layout_times reads seconds by machine, use and layout, and rejects all else") {
  const auto parse = [](const char* text) {
    return parse_layout_times(parse_json(text, "c"), "c");
  };
  const auto all =
      parse(R"({"schema": 1, "seconds": {"cpu": {"w": {"csr": 0.5, "dense": 2}}, "other": {}}})");
  CHECK(all.at("cpu").at("w") == SecondsByLayout{{"csr", 0.5}, {"dense", 2}});
  for (const char* text :
       {"[]", "3", R"({"schema": 1})", R"({"schema": 2, "seconds": {}})",
        R"({"schema": 1, "seconds": {}, "more": 1})", R"({"schema": 1, "seconds": []})",
        R"({"schema": 1, "seconds": {"cpu": []}})",
        R"({"schema": 1, "seconds": {"cpu": {"w": 1}}})",
        R"({"schema": 1, "seconds": {"cpu": {"w": {"csr": "1"}}}})",
        R"({"schema": 1, "seconds": {"cpu": {"w": {"csr": 0}}}})",
        R"({"schema": 1, "seconds": {"cpu": {"w": {"csr": -1}}}})",
        R"({"schema": 1, "seconds": {"cpu": {"w": {"csr": 1e999}}}})",
        R"({"schema": 1, "seconds": {"cpu": {"w": {"csr": null}}}})"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(parse(text), Error);
  }
  CHECK(error_of([&] { parse(R"({"schema": 1, "seconds": {"cpu": {"w": {"csr": -1}}}})"); }) ==
        "c: /seconds/cpu/w/csr: expected seconds > 0");
}

TEST_CASE("PlanSums adds up the execution steps of several batches, with a row per distinct step") {
  const auto step = [](const char* node, double seconds, const char* why) {
    return ExecutionStep{{node}, "linear", "csr", why, seconds, 2e9 * seconds, 0};
  };
  ExecutionPlan full, last;
  full.steps = {step("a", 1, ""), step("b", 2, "in panels"), step("c", 1, "")};
  full.peak_bytes = 10;
  last.steps = {step("a", 0.5, ""), step("b", 0.25, "few"), step("c", 0.25, "")};
  last.peak_bytes = 5;
  PlanSums sums;
  sums.add(full);
  sums.add(full);
  sums.add(last);
  Report r;
  sums.explain({{"w", {"b"}, "", {{"csr", 1e-3}, {"dense", 2e-3}}, "csr", true}}, r);
  REQUIRE(r.rows.size() == 4);
  std::vector<double> ms;
  for (auto& row : r.rows) {
    ms.push_back(std::get<double>(r.at(row, "ms")));
    CHECK(std::get<double>(r.at(row, "gflops")) == doctest::Approx(2));
  }
  // The steps of a plan are in its order.
  CHECK(ms == std::vector<double>{2500, 250, 4000, 2250});
  CHECK(std::get<std::string>(r.at(r.rows[1], "candidates")) == "csr 1 ms, dense 2 ms; measured");
  CHECK(r.notes.front().find("the sums of 3 batches") != std::string::npos);
  CHECK(r.notes.front().find("values at most 10 B") != std::string::npos);
}
