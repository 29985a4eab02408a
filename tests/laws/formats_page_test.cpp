// SPDX-License-Identifier: Apache-2.0
// The tables of docs/formats.md: layouts and sparsifiers with the texts of their types, and direct
// conversions. STEN_UPDATE_GOLDEN=1 writes them.
#include <fmt/format.h>

#include "libsten/core/registry/builtin.h"
#include "libsten/core/registry/registry.h"
#include "tests/support/generated_page.h"

using namespace sten;
using namespace sten::testing;

TEST_CASE("docs/formats.md lists all built-in layouts, direct conversions and sparsifiers") {
  Registry r;
  add_builtin(r);
  std::string layouts = "| spec | parts, in this order |\n|---|---|\n";
  for (const auto& l : r.layouts()) {
    const SpecDoc doc = r.layout_doc(l.name);
    CHECK_MESSAGE(!doc.text.empty(), l.name, " has no member doc");
    layouts += fmt::format("| `{}` | {} |\n", doc.spec, doc.text);
  }
  std::string conversions = "| from | to |\n|---|---|\n";
  for (const auto& l : r.layouts()) {
    std::string to;
    for (const auto& edge : r.edges(l.name))
      to += fmt::format("{}`{}`", to.empty() ? "" : ", ", edge.first);
    if (!to.empty()) conversions += fmt::format("| `{}` | {} |\n", l.name, to);
  }
  std::string sparsifiers = "| spec | kind | keeps |\n|---|---|---|\n";
  for (const Kind kind : {Kind::streaming, Kind::blocking, Kind::materializing})
    for (const auto& s : r.sparsifiers()) {
      if (r.sparsifier(s.spec).kind() != kind) continue;
      const SpecDoc doc = r.sparsifier_doc(s.name);
      CHECK_MESSAGE(!doc.text.empty(), s.name, " has no member doc");
      sparsifiers += fmt::format("| `{}` | {} | {} |\n", doc.spec, name_of(kind), doc.text);
    }
  check_page("docs/formats.md", "tests/laws/formats_page_test.cpp",
             {{"layouts", layouts}, {"conversions", conversions}, {"sparsifiers", sparsifiers}});
}
