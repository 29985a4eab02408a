// What all programs share: common flags, one-line errors, exit codes.
#pragma once
#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "libsten/run/rewrite.h"

namespace sten::app {

struct Common {
  bool json = false, quiet = false, verbose = false, force = false, strict = false;
  bool summary = false;  // the total without the rows
  int threads = 0;       // 0: all that are available
  std::uint64_t seed = 0;
  std::string progress = "auto";
  std::vector<std::string> reports;  // files for the report

  bool show_progress() const;
};

struct Example {
  const char* what;
  const char* command;
};

struct Program {
  const char* name;
  const char* purpose;                 // one line
  const char* example;                 // for the end of --help
  std::vector<Example> examples = {};  // more of them, two for --help and all for the manual; each
                                       // may use what those before it wrote
  const char* detail = "the selected tensors and those left alone";  // what --verbose adds
  bool has_total = true;                                             // that --summary leaves alone
  bool has_chart = false;  // for --report FILE.svg; what -o means then, too
  // Of programs that mpirun may start several times, to work together: which one this is. All but 0
  // say nothing.
  int (*rank)() = nullptr;
  // Variables that it reads beside those of all programs, and what they mean; for the manual.
  std::vector<std::pair<const char*, const char*>> environment = {};
};

struct ExitCode {
  const char* code;
  const char* meaning;
};
inline constexpr ExitCode exit_codes[] = {{"0", "done"},
                                          {"1", "bad input or machine"},
                                          {"2", "usage"},
                                          {"3", "a check did not hold"},
                                          {"130/143", "interrupted"}};

// Groups of --help; an option names one of these, or one of its program's, where it is defined. The
// common ones come first, and batches, outputs and running last.
namespace groups {
inline constexpr const char* common = "Common options";  // what most runs need
inline constexpr const char* tensors = "Which tensors";
inline constexpr const char* checks = "Checks";
inline constexpr const char* batches = "Several inputs";
inline constexpr const char* outputs = "Reports and other outputs";
inline constexpr const char* running = "How it runs";
}  // namespace groups

// Parses the command line and runs the program; returns its exit code. `define` adds the program's
// own options and returns what to do once they are parsed.
using Define = std::function<std::function<Outcome()>(CLI::App&, const Common&)>;
// Gives `app` all of its options; returns what to do once they are parsed.
std::function<Outcome()> define_app(const Program& program, const Define& define, CLI::App& app,
                                    Common& common);
int run(const Program& program, int argc, char** argv, const Define& define);

// --device.
void add_device(CLI::App& app, std::string& device, const std::string& what);
// --include, --exclude.
void add_patterns(CLI::App& app, Patterns& patterns);
// Takes "90%" for 0.9 too.
CLI::Option* allow_percent(CLI::Option* option);
// -o and --dry-run.
void add_output(CLI::App& app, OutputOptions& output);
// "PROGRAM: text" on standard error, in one write.
void print_line(const char* program, const std::string& text);

}  // namespace sten::app
