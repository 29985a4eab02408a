// SPDX-License-Identifier: Apache-2.0
// The dispatch plans that docs/model.md quotes.
#include <doctest/doctest.h>

#include <fstream>

#include "libsten/core/dispatch/operators.h"

using namespace sten;

namespace {

// The lines of the page's text blocks; indented lines continue the previous one.
std::vector<std::string> quoted() {
  std::ifstream page(STEN_SOURCE_DIR "/docs/model.md");
  std::vector<std::string> lines;
  bool is_inside = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("```"))
      is_inside = line == "```text";
    else if (is_inside && line.starts_with("  "))
      lines.back() += line.substr(1);
    else if (is_inside)
      lines.push_back(line);
  }
  return lines;
}

}  // namespace

TEST_CASE("the plans quoted in docs/model.md match the dispatcher's") {
  const auto by = [](const char* spec) { return registry().sparsifier(Spec::parse(spec)); };
  const Signature signatures[] = {
      {"linear", {"dense", "csr"}, {{by("relu"), "csr"}}},
      {"matmul", {"banded", "dense"}},
      {"matmul", {"csr", "csr"}},
      {"linear", {"dense", "csr"}, {{by("magnitude:sparsity=0.5"), "csr"}}},
      {"sigmoid", {"csr"}},
  };
  std::vector<std::string> plans;
  for (const Signature& s : signatures) plans.push_back(operators().plan(s)->text);
  CHECK(quoted() == plans);
}
