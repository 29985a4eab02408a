// The table of unary operators in docs/operators.md equals kernels/unary.def. STEN_UPDATE_GOLDEN=1
// writes it.
#include "libsten/compute/ops/elementwise/unary_rows.h"

#include <fmt/format.h>

#include <map>

#include "tests/support/generated_page.h"

using namespace sten;

namespace {

// Groups of operators with the same elements and gradient.
std::string table() {
  static const char* elements[] = {"F32, F64", "F32, F64; F16 and BF16, computed in F32",
                                   "F32, F64; F16 and BF16, computed in F32; integers, which wrap"};
  std::map<std::pair<UnaryElements, bool>, std::string> groups;
  for (const UnaryRow& row : unary_rows()) {
    std::string& group = groups[{row.elements, row.is_step}];
    group += fmt::format("{}`{}`", group.empty() ? "" : " ", row.name);
    std::string attributes;
    for (const UnaryAttribute& a : {row.a, row.b})
      if (!a.name.empty())
        attributes +=
            fmt::format("{}`{}={:g}`", attributes.empty() ? "" : ", ", a.name, a.fallback);
    if (!attributes.empty()) group += " (" + attributes + ")";
  }
  std::string text = "| operators | elements | gradient |\n|---|---|---|\n";
  for (const auto& group : groups)
    text += fmt::format("| {} | {} | {} |\n", group.second,
                        elements[static_cast<int>(group.first.first)],
                        group.first.second ? "0" : "yes");
  return text;
}

}  // namespace

TEST_CASE("the documentation lists the rows of unary operators") {
  testing::check_page("docs/operators.md", "tests/ops/unary_rows_test.cpp",
                      {{"unary operators", table()}});
}
