// What programs are, without running them: their flags, as --help and the manual have them.
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "apps/help.h"
#include "apps/main.h"
#include "libsten/base/text.h"
#include "libsten/base/version.h"
#include "libsten/dispatch/builtin.h"
#include "libsten/dispatch/registry.h"

namespace sten::app {
namespace {

void add_common(const Program& program, CLI::App& app, Common& c) {
  app.add_flag("-f,--force", c.force, "Replace the result of an earlier run, never anything else")
      ->group(groups::common);
  // -o is what sten-bench called it before.
  app.add_option(program.has_chart ? "-o,--report" : "--report", c.reports,
                 program.has_chart
                     ? "Also write the report to FILE.json, .csv, .md or .html, or a chart of "
                       "ratios to FILE.svg; repeatable (-o: an older name of it)"
                     : "Also write the report to FILE.json, .csv, .md or .html; repeatable")
      ->type_name("FILE")
      ->allow_extra_args(false)
      ->group(groups::outputs);
  app.add_flag("--json", c.json, "Print one JSON document on standard output")
      ->group(groups::outputs);
  if (program.has_total)
    app.add_flag("--summary", c.summary, "Print the total only, not every tensor")
        ->group(groups::outputs);
  if (!app.get_option_no_throw("--threads"))  // a program may have its own
    app.add_option("--threads", c.threads, "Threads (default: all available processors)")
        ->type_name("N")
        ->check(CLI::Range(1, 4096))
        ->group(groups::running);
  app.add_option("--seed", c.seed, "Seed of everything random (default 0)")
      ->type_name("N")
      ->check([](const std::string& text) {  // which would wrap around
        if (text.starts_with('-')) return text + " is below 0";
        const bool is_number = text.find_first_not_of("0123456789") == text.npos;
        std::uint64_t seed = 0;
        const auto read = std::from_chars(text.data(), text.data() + text.size(), seed);
        return is_number && read.ec != std::errc() ? text + " is above 2^64 - 1" : std::string();
      })
      ->group(groups::running);
  app.add_flag("--strict", c.strict, "Fail rather than fall back to a slower way")
      ->group(groups::running);
  app.add_option("--progress", c.progress, "Progress bar: auto (on a terminal), always, never")
      ->type_name("WHEN")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->group(groups::running);
  app.add_flag("-q,--quiet", c.quiet,
               "Print errors only, and what --json asks for; reports are written")
      ->group(groups::running);
  app.add_flag("-v,--verbose", c.verbose,
               fmt::format("Also print {} to standard error", program.detail))
      ->group(groups::running);
}

// Layouts and sparsifiers that were linked to the program.
std::string additions() {
  Registry builtin;
  add_builtin(builtin);
  const auto beyond = [](const char* what, const auto& all, const auto& known) {
    std::string text;
    for (const Registry::Example& e : all)
      if (std::none_of(known.begin(), known.end(), [&](const auto& k) { return k.name == e.name; }))
        text += fmt::format("{} {}", text.empty() ? what : ",", e.spec.str());
    return text;
  };
  const std::string layouts = beyond("layouts", registry().layouts(), builtin.layouts());
  const std::string others = beyond("sparsifiers", registry().sparsifiers(), builtin.sparsifiers());
  if (layouts.empty() && others.empty()) return "";
  return fmt::format("Added here: {}{}{}\n\n", layouts,
                     layouts.empty() || others.empty() ? "" : "; ", others);
}

std::string footer(const Program& program) {
  std::string codes;
  for (const ExitCode& e : exit_codes)
    codes += fmt::format("{}{} {}", codes.empty() ? "" : ", ", e.code, e.meaning);
  std::string examples = fmt::format("Examples:\n  {}\n", program.example);
  for (std::size_t i = 0; i < std::min<std::size_t>(program.examples.size(), 2); ++i)
    examples +=
        fmt::format("\n  {}\n  {}\n", program.examples[i].what, program.examples[i].command);
  return fmt::format("{}{}\nExit codes: {}.", additions(), examples, codes);
}

}  // namespace

bool Common::show_progress() const {
  if (quiet) return false;
  return progress == "always" || (progress == "auto" && isatty(STDERR_FILENO));
}

void add_device(CLI::App& app, std::string& device, const std::string& what) {
  app.add_option("--device", device, what + ": cpu (default), cuda, or cuda:N, its number N")
      ->type_name("DEVICE")
      ->group(groups::running);
}

void add_patterns(CLI::App& app, Patterns& patterns) {
  // One value per flag, so that a positional argument may follow.
  app.add_option(
         "--include", patterns.include,
         "Tensors to work on: a name, a glob (* crosses dots), a list of them (a,b or "
         "a.{b,c}), or re:EXPRESSION, which may match any part (^ and $ tie it to the ends); "
         "repeatable. Default: the weights of layers by name and shape, which leaves "
         "embeddings, output heads, norms, routers and biases alone; -v names those")
      ->type_name("PATTERN")
      ->allow_extra_args(false)
      ->group(groups::tensors);
  app.add_option("--exclude", patterns.exclude, "Tensors to leave unchanged; repeatable")
      ->type_name("PATTERN")
      ->allow_extra_args(false)
      ->group(groups::tensors);
}

CLI::Option* allow_percent(CLI::Option* option) {
  return option->transform([](const std::string& text) { return without_percent(text); });
}

void add_output(CLI::App& app, OutputOptions& output) {
  app.add_option(
         "-o,--output", output.path,
         "The file or directory to write, or - for standard output; DIR/ for a file: the "
         "input's name in DIR. A file is safetensors, .npy for one dense tensor, or of sten-prune "
         ".onnx, as its input")
      ->type_name("OUT")
      ->group(groups::common);
  app.add_flag("--keep-other-weights", output.keep_other_weights,
               "Of a directory, also copy weights in other files, such as pytorch_model.bin and "
               "onnx/, which are not changed and which loaders may prefer")
      ->group(groups::outputs);
  app.add_flag("--dry-run", output.dry_run, "Compute and report everything, write nothing else")
      ->group(groups::common);
}

std::function<Outcome()> define_app(const Program& program, const Define& define, CLI::App& app,
                                    Common& common) {
  app.description(program.purpose);
  app.name(program.name);
  app.formatter(std::make_shared<HelpFormatter>());
  app.set_help_flag("-h,--help", "Print this help")->group(groups::running);
  app.set_version_flag("--version", fmt::format("{} {}", program.name, version()),
                       "Print the version")
      ->group(groups::running);
  app.footer(footer(program));
  std::function<Outcome()> action = define(app, common);
  add_common(program, app, common);
  return action;
}

}  // namespace sten::app
