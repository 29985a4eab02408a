// SPDX-License-Identifier: Apache-2.0
// Fuzz target: rules, name patterns, placeholders of commands, and the display and order of names.
#include "libsten/core/base/text.h"
#include "libsten/programs/rewrite/rules.h"
#include "libsten/programs/rewrite/selection.h"
#include "libsten/programs/staged/command.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sten;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::string shown = printable(text);
  for (const char c : shown)
    if (static_cast<unsigned char>(c) < 32 || c == 127) fuzz::broken("printable() is not");
  if (printable(shown) != shown) fuzz::broken("printable() changes what it made");
  if (natural_less(text, text)) fuzz::broken("a name is less than itself");
  if (natural_less(text, "layer.10") && natural_less("layer.10", text))
    fuzz::broken("two names are less than each other");
  glob_match(text.substr(0, size / 2), text.substr(size / 2));
  suggestion(text, {"bitmask", "csr"});
  fill_in(text, {{"{in}", text}, {"{out}", "x"}});
  fuzz::accepted([&] { check_placeholders(text, {"{in}", "{out}", "{metrics}"}); });
  fuzz::accepted([&] {
    for (const Rule& rule : split_rule(parse_rule(text, "--rule"))) {
      const NamePattern pattern(rule.pattern);
      for (const char* name : {"", "a", "bert.encoder.layer.0.output.dense.weight"})
        pattern.matches(name);
    }
  });
  return 0;
}
