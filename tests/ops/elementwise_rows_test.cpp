// SPDX-License-Identifier: Apache-2.0
// The table of elementwise operators in docs/operators.md equals the rows in kernels/.
// STEN_UPDATE_GOLDEN=1 writes it.
#include <fmt/format.h>

#include <algorithm>

#include "libsten/compute/ops/elementwise/binary.h"
#include "libsten/compute/ops/elementwise/comparison.h"
#include "libsten/compute/ops/elementwise/unary_rows.h"
#include "tests/support/generated_page.h"

using namespace sten;

namespace {

std::string named(const UnaryRow& row) {
  std::string attributes;
  for (const UnaryAttribute& a : {row.a, row.b})
    if (!a.name.empty())
      attributes += fmt::format("{}`{}={:g}`", attributes.empty() ? "" : ", ", a.name, a.fallback);
  return fmt::format("`{}`{}", row.name, attributes.empty() ? "" : " (" + attributes + ")");
}

// Groups of operators with the same number of inputs, elements and gradient.
std::string table() {
  static const std::string floats = "F32, F64; F16 and BF16, computed in F32",
                           numbers = floats + "; integers, which wrap",
                           of_unary[] = {"F32, F64", floats, numbers};
  std::vector<std::pair<std::string, std::string>> groups;  // the other columns, operators
  const auto add = [&](int inputs, const std::string& elements, const char* gradient,
                       const std::string& op) {
    const std::string cells = fmt::format("{} | {} | {}", inputs, elements, gradient);
    auto at = std::ranges::find(groups, cells, &std::pair<std::string, std::string>::first);
    if (at == groups.end()) at = groups.insert(at, {cells, ""});
    at->second += (at->second.empty() ? "" : " ") + op;
  };
  for (const UnaryRow& row : unary_rows())
    add(1, of_unary[static_cast<int>(row.elements)], row.is_step ? "0" : "yes", named(row));
  for (const BinaryRow& row : binary_rows()) add(2, numbers, "yes", fmt::format("`{}`", row.name));
  for (const ComparisonRow& row : comparison_rows())
    add(2, row.is_logical ? "BOOL; the result is BOOL" : "all but 8-bit floats; the result is BOOL",
        "no", fmt::format("`{}`", row.name));
  std::string text = "| operators | inputs | elements | gradient |\n|---|---|---|---|\n";
  for (const auto& [cells, ops] : groups) text += fmt::format("| {} | {} |\n", ops, cells);
  return text;
}

}  // namespace

TEST_CASE("the table in docs/operators.md matches the elementwise operators") {
  testing::check_page("docs/operators.md", "tests/ops/elementwise_rows_test.cpp",
                      {{"rows", table()}});
}
