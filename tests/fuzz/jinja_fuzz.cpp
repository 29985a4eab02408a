// SPDX-License-Identifier: Apache-2.0
// Fuzz target: Jinja templates of chat models, which come with their files.
#include "libsten/data/jinja/jinja_template.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sten;
  const nlohmann::ordered_json messages{{{"role", "system"}, {"content", " a\n"}},
                                        {{"role", "user"}, {"content", "b"}}};
  fuzz::accepted([&] {
    const JinjaTemplate t({reinterpret_cast<const char*>(data), size}, "t");
    fuzz::accepted([&] {
      t.render({{"messages", messages}, {"bos_token", "<s>"}, {"add_generation_prompt", true}});
    });
  });
  return 0;
}
