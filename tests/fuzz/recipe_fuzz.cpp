// SPDX-License-Identifier: Apache-2.0
// Fuzz target: recipes with --set, given as lines "--set KEY=VALUE" before the document.
#include "libsten/training/recipe/recipe.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sten;
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  Overrides set;
  constexpr std::string_view flag = "--set ";
  while (rest.starts_with(flag)) {
    const std::size_t end = rest.find('\n');
    set.emplace_back(rest.substr(flag.size(), end - flag.size()));
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  }
  fuzz::accepted([&] {
    const Recipe r = parse_recipe(rest, "recipe.json", set);
    const std::string written = to_json(r);
    if (to_json(parse_recipe(written, "other.json")) != written)
      fuzz::broken("a recipe that was written is another one");
    if (r.steps == 0) fuzz::accepted([&] { in_steps(r, 100); });
  });
  return 0;
}
