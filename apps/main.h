// SPDX-License-Identifier: Apache-2.0
// Common parts of all programs: flags, one-line errors, exit codes.
#pragma once
#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "apps/program.h"
#include "libsten/core/base/device_spec.h"
#include "libsten/core/base/named_enum.h"
#include "libsten/programs/rewrite/rewrite.h"

namespace sten::app {

struct Common {
  bool json = false, quiet = false, verbose = false, force = false, strict = false;
  bool summary = false;  // the total without the rows
  int threads = 0;       // 0: all available
  std::uint64_t seed = 0;
  std::string progress = "auto";
  std::vector<std::string> reports;     // files for the report
  std::vector<std::string> extensions;  // files of --load, which run() has loaded

  bool show_progress() const;
};

// Parses the command line and runs the program; returns its exit code. `define` adds the program's
// options and returns the function to run after parsing.
using Define = std::function<std::function<Outcome()>(CLI::App&, const Common&)>;
// Adds all options to `app`; returns the function to run after parsing.
std::function<Outcome()> define_app(const Program& program, const Define& define, CLI::App& app,
                                    Common& common);
int run(const Program& program, int argc, char** argv, const Define& define);

// An option with a value that `parse` makes from the text, or fails: Error (usage).
template <class T, class Parse>
CLI::Option* add_parsed(CLI::App& app, const char* name, T& value, Parse parse,
                        const std::string& text) {
  const auto set = [&value, parse](const std::string& given) {
    if (!given.empty()) value = parse(given);  // run() refuses an empty value
  };
  return app.add_option_function<std::string>(name, set, text);
}
// An option with a value of an enum, by its name.
template <NamedEnum E>
CLI::Option* add_named(CLI::App& app, const char* name, auto& value, const std::string& text) {
  const auto parse = [name](const std::string& given) { return value_of<E>(name, given); };
  return add_parsed(app, name, value, parse, text);
}
// --device; `details` are for --help-all and the manual.
void add_device(CLI::App& app, DeviceSpec& device, const std::string& details);
// The layouts except dense: "masked, bitmask, ...".
std::string sparse_layouts();
// --include, --exclude.
void add_patterns(CLI::App& app, Patterns& patterns);
// Also accepts "90%" for 0.9.
CLI::Option* allow_percent(CLI::Option* option);
// -o and --dry-run.
void add_output(CLI::App& app, OutputOptions& output);
// --type
void add_type(CLI::App& app, OutputOptions& output);
// Prints a result to standard output. Error if that does not accept the whole text, as on a full
// disk.
void print_result(const std::string& text);
// "PROGRAM: text" on standard error, in one write.
void print_line(const char* program, const std::string& text);

}  // namespace sten::app
