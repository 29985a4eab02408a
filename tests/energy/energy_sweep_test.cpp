// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/energy/energy_sweep.h"

#include <doctest/doctest.h>

#include <map>

using namespace sten;

TEST_CASE(
    "on the shipped model, energy never rises from unstructured to n:m, n:m:g and smaller g") {
  SweepOptions o;
  o.input = std::string(STEN_SOURCE_DIR) + "/recipes/models/shakespeare-bert/model.safetensors";
  o.patterns.include = {"bert.encoder.layer.0.attention.*.weight"};
  o.patterns.exclude = {"*LayerNorm*"};
  for (const Index axis : {0, 1}) {
    CAPTURE(axis);
    o.axis = axis;
    Outcome out = sweep_energy(o);
    // Energies by sparsity (unstructured), by n:m, and by n:m:g.
    std::map<std::string, double> of;
    std::map<double, double> unstructured;
    std::map<std::string, double> sparsity;
    for (auto& row : out.report.rows) {
      const auto family = std::get<std::string>(out.report.at(row, "name"));
      const auto structure = std::get<std::string>(out.report.at(row, "structure"));
      const double s = std::get<double>(out.report.at(row, "sparsity"));
      const double e = std::get<double>(out.report.at(row, "energy"));
      if (family == "unstructured") unstructured[std::round(1e6 * s)] = e;
      of[structure] = e;
      sparsity[structure] = s;
    }
    CHECK(of.at("0 %") == 1);
    for (const char* nm : {"1:2", "2:4", "4:8", "1:4", "2:8", "1:8", "1:10", "1:20"}) {
      CAPTURE(nm);
      const std::string name = nm;
      const auto same = unstructured.find(std::round(1e6 * sparsity.at(name)));
      REQUIRE(same != unstructured.end());
      CHECK(same->second >= of.at(name));
      CHECK(of.at(name) >= of.at(name + ":64"));
      CHECK(of.at(name + ":64") >= of.at(name + ":16"));
      CHECK(of.at(name + ":16") >= of.at(name + ":4"));
      CHECK(of.at(name + ":4") >= of.at(name + ":1"));
      CHECK(sparsity.at(name + ":4") == doctest::Approx(sparsity.at(name)));
    }
  }
}
