// SPDX-License-Identifier: Apache-2.0
// Command line of a program: the options in --help, the manual and completion.
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "apps/help.h"
#include "apps/main.h"
#include "libsten/core/base/text.h"
#include "libsten/core/base/version.h"
#include "libsten/core/registry/builtin.h"
#include "libsten/core/registry/registry.h"
#include "libsten/files/gguf/blocks.h"

namespace sten::app {
namespace {

void add_common(const Program& program, CLI::App& app, Common& c) {
  app.add_flag("-f,--force", c.force,
               "Replace the result of an earlier run\n"
               "Other files and directories are never replaced.")
      ->group(groups::common);
  app.add_option(program.is_o_report ? "-o,--report" : "--report", c.reports,
                 "Also write the report to FILE.json, .csv, .md or .html, or its main chart to "
                 "FILE.svg; repeatable")
      ->type_name("FILE")
      ->allow_extra_args(false)
      ->group(groups::outputs);
  app.add_flag("--json", c.json, "Print the report as one JSON document on standard output")
      ->group(groups::outputs);
  if (program.has_total)
    app.add_flag("--summary", c.summary, "Print only the total, not every tensor")
        ->group(groups::outputs);
  if (!app.get_option_no_throw("--threads"))  // a program can have its own
    app.add_option("--threads", c.threads, "Threads (default: all available processors)")
        ->type_name("N")
        ->check(CLI::Range(1, 4096))
        ->group(groups::general);
  app.add_option("--seed", c.seed, "Seed of all random choices (default 0)")
      ->type_name("N")
      ->check([](const std::string& text) {  // negative numbers would wrap around
        if (text.starts_with('-')) return text + " is below 0";
        const bool is_number = text.find_first_not_of("0123456789") == text.npos;
        std::uint64_t seed = 0;
        const auto read = std::from_chars(text.data(), text.data() + text.size(), seed);
        return is_number && read.ec != std::errc() ? text + " is above 2^64 - 1" : std::string();
      })
      ->group(groups::general);
  app.add_option("--load", c.extensions,
                 "Load layouts and operators of a library; repeatable\n"
                 "EXT.so is a shared library with layouts, sparsifiers and operators, compiled "
                 "with the headers of this version of sten. It is loaded "
                 "before the other options are read, in any order. Checkpoints and recipes never "
                 "load libraries.")
      ->type_name("EXT.so")
      ->allow_extra_args(false)
      ->group(groups::general);
  app.add_flag("--strict", c.strict, "Fail instead of falling back to a slower implementation")
      ->group(groups::general);
  app.add_option("--progress", c.progress,
                 "Progress bar: auto (default), always or never\n"
                 "auto shows it on a terminal.")
      ->type_name("WHEN")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->group(groups::general);
  app.add_flag("-q,--quiet", c.quiet,
               "Print only errors, generated text and --json\nReports are still written.")
      ->group(groups::general);
  app.add_flag("-v,--verbose", c.verbose,
               fmt::format("Also print {} to standard error", program.verbose_adds))
      ->group(groups::general);
}

const Registry& builtin() {
  static const Registry& r = *[] {
    static Registry all;
    add_builtin(all);
    return &all;
  }();
  return r;
}

// Names of linked layouts and sparsifiers.
std::string additions() {
  const auto beyond = [](const char* kind, const auto& all, const auto& known) {
    std::string text;
    for (const Registry::Example& e : all)
      if (std::none_of(known.begin(), known.end(), [&](const auto& k) { return k.name == e.name; }))
        text += fmt::format("{} {}", text.empty() ? kind : ",", e.spec.str());
    return text;
  };
  const std::string layouts = beyond("layouts", registry().layouts(), builtin().layouts());
  const std::string others =
      beyond("sparsifiers", registry().sparsifiers(), builtin().sparsifiers());
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
        fmt::format("\n  {}\n  {}\n", program.examples[i].title, program.examples[i].command);
  return fmt::format("{}{}\nExit codes: {}.", additions(), examples, codes);
}

}  // namespace

bool Common::show_progress() const {
  if (quiet) return false;
  return progress == "always" || (progress == "auto" && isatty(STDERR_FILENO));
}

std::string sparse_layouts() {
  std::string text;
  for (const auto& [name, example] : registry().layouts())
    if (name != "dense") text += fmt::format("{}{}", text.empty() ? "" : ", ", name);
  return text;
}

void add_device(CLI::App& app, DeviceSpec& device, const std::string& details) {
  add_parsed(app, "--device", device, DeviceSpec::parse,
             "Device: cpu (default), cuda or cuda:N\n" + details)
      ->type_name("DEVICE")
      ->group(groups::general);
}

void add_patterns(CLI::App& app, Patterns& patterns) {
  // One value per flag, so that a positional argument may follow.
  app.add_option(
         "--include", patterns.include,
         "Tensors to process: a name, glob, list or re:EXPRESSION (default: weights of layers); "
         "repeatable\n"
         "The * of a glob also matches dots. A list is a,b or a.{b,c}. An expression may match any "
         "part of a name; ^ and $ anchor the expression.\n"
         "The default skips embeddings, output heads, norms, routers and biases; -v lists the "
         "skipped tensors.")
      ->type_name("PATTERN")
      ->allow_extra_args(false)
      ->group(groups::tensors);
  app.add_option("--exclude", patterns.exclude, "Tensors to skip; repeatable")
      ->type_name("PATTERN")
      ->allow_extra_args(false)
      ->group(groups::tensors);
}

CLI::Option* allow_percent(CLI::Option* option) {
  return option->transform([](const std::string& text) { return without_percent(text); });
}

void add_type(CLI::App& app, OutputOptions& output) {
  add_parsed(app, "--type", output.type, gguf_output_type,
             "Type of the weights: f32, f16 or bf16; in a GGUF file also q8_0 or q4_0\n"
             "- In OUT.gguf, norms and biases are f32. In other outputs, vectors, such as norms, "
             "keep their type.\n"
             "- Without --type, weights keep their type. Quantized weights of a GGUF file become "
             "bf16 in other outputs.")
      ->type_name("TYPE")
      ->group(groups::common);
}

void add_output(CLI::App& app, OutputOptions& output) {
  app.add_option("-o,--output", output.path,
                 "Write the result to this file or directory, or to standard output (-)\n"
                 "DIR/ stands for a file in DIR with the input's name, or for the Hugging Face "
                 "directory of "
                 "a GGUF file. A file *.npy holds one dense tensor, *.gguf a model with metadata; "
                 "sten-prune writes .onnx if the input is ONNX. Other files are safetensors.")
      ->type_name("OUT")
      ->group(groups::common);
  app.add_flag("--keep-other-weights", output.keep_other_weights,
               "Also copy a directory's other weight files, which stay unchanged\n"
               "Examples are pytorch_model.bin and onnx/. A loader may prefer them to the new "
               "weights.")
      ->group(groups::outputs);
  app.add_flag("--dry-run", output.dry_run, "Compute and report everything; write only reports")
      ->group(groups::common);
}

std::function<Outcome()> define_app(const Program& program, const Define& define, CLI::App& app,
                                    Common& common) {
  app.description(program.purpose);
  app.name(program.name);
  app.formatter_fn([&program](const CLI::App* a, const std::string&, CLI::AppFormatMode mode) {
    return help_text(program, *a, mode == CLI::AppFormatMode::All);
  });
  app.set_help_flag("-h,--help", "Print this help")->group(groups::general);
  app.set_help_all_flag("--help-all", "Print every option with its details")
      ->group(groups::general);
  app.set_version_flag("--version", fmt::format("{} {}", program.name, version()),
                       "Print the version")
      ->group(groups::general);
  app.footer(footer(program));
  std::function<Outcome()> action = define(app, common);
  add_common(program, app, common);
  return action;
}

}  // namespace sten::app
