// SPDX-License-Identifier: Apache-2.0
#include "apps/extensions.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "libsten/core/dispatch/load_extension.h"

namespace sten::app {
namespace {

// Assigns the words of a command line to options, as parse() does, without parsing values: a spec may
// need an extension.
struct UnparsedOptions : CLI::App {
  void assign(int argc, char** argv) {
    std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
    std::reverse(words.begin(), words.end());  // the next word is the last one
    try {
      for (bool are_positional = false; !words.empty();) _parse_single(words, are_positional);
    } catch (const CLI::ParseError&) {  // parse() throws it again
    }
  }
};

}  // namespace

void load_extensions(int argc, char** argv, const std::function<void(CLI::App&)>& define) {
  const auto may_load = [](std::string_view word) { return word.starts_with("--load"); };
  if (std::none_of(argv, argv + argc, may_load)) return;
  UnparsedOptions options;
  define(options);
  options.assign(argc, argv);
  for (const std::string& file : options.get_option("--load")->results())
    if (!file.empty()) load_extension(file);  // run() refuses an empty value
}

}  // namespace sten::app
