// SPDX-License-Identifier: Apache-2.0
#include "apps/main.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <sstream>
#include <thread>

#include "apps/extensions.h"
#include "apps/help.h"
#include "apps/paths.h"
#include "apps/terminal.h"
#include "kernels/isa.h"
#include "libsten/core/base/error.h"
#include "libsten/core/base/log.h"
#include "libsten/core/base/parallel.h"
#include "libsten/core/base/text.h"
#include "libsten/core/dispatch/operators.h"
#include "libsten/files/system/fd.h"
#include "libsten/files/system/interrupted.h"
#include "libsten/files/system/mmap.h"
#include "libsten/files/system/overwrite.h"
#include "libsten/files/system/unfinished.h"
#include "libsten/programs/rewrite/selection.h"

namespace sten::app {

void print_result(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    fail("standard output: {}", std::strerror(errno));
}

namespace {

// Prints --help, --help-all and --version.
int print_about(const Program& program, const CLI::App& app, const CLI::ParseError& e) {
  std::ostringstream text;
  app.exit(e, text, text);
  try {
    print_result(text.str());
    return 0;
  } catch (const Error& error) {
    print_line(program.name, error.what());
    return static_cast<int>(error.fault());
  }
}

std::vector<std::string> flag_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* o : app.get_options())
    for (const std::string& name : o->get_lnames()) names.push_back("--" + name);
  return names;
}

// The shortest parts of `text` at each '*' of `pattern`; false if `text` does not match.
bool matches(std::string_view text, std::string_view pattern,
             std::array<std::string_view, 4>& parts) {
  for (std::size_t part = 0;; ++part) {
    const std::size_t star = pattern.find('*');
    if (!text.starts_with(pattern.substr(0, star))) return false;
    if (star == pattern.npos) return text.size() == pattern.size();
    text.remove_prefix(star);
    pattern.remove_prefix(star + 1);
    const std::string_view next = pattern.substr(0, pattern.find('*'));
    const std::size_t size = next.empty() ? text.size() : text.find(next);
    if (size == text.npos) return false;
    parts[part] = text.substr(0, size);
    text.remove_prefix(size);
  }
}

// CLI11's messages in our wording; the first part is always a flag.
std::string plain_text(std::string_view text) {
  static constexpr const char* said[][2] = {
      {"Could not convert: * = *", "{} '{}' is not a number"},
      {"*: Value * not in range * to *", "{} '{}' is not within [{}, {}]"},
      {"*: * not in {*}", "{}: unknown value '{}' (expected one of {})"},
      {"*: * required * missing", "{0} needs a value: {2}"},
      {"*: At Most 1 required but received *", "{} takes one value, and is given {} times"},
      {"*: Too many inputs*", "{} takes no value"},
      {"*: too many inputs*", "{} takes no value"},
      {"*: Should be *", "{} takes no value"},
      {"* was given a disallowed *", "{} takes no value"},
  };
  std::array<std::string_view, 4> parts;
  for (const auto& [theirs, ours] : said)
    if (matches(text, theirs, parts) && parts[0].find(' ') == text.npos)
      return fmt::format(fmt::runtime(ours), parts[0], parts[1], parts[2], parts[3]);
  return std::string(text);
}

// The text of a usage error, with a suggestion that CLI11 does not have.
std::string usage_text(const CLI::App& app, const CLI::ParseError& e) {
  const bool extras = dynamic_cast<const CLI::ExtrasError*>(&e);
  // A missing option may have been mistyped.
  if (extras || dynamic_cast<const CLI::RequiredError*>(&e))
    for (const std::string& word : app.remaining())
      if (word.starts_with("-") && word != "-") {
        const std::string flag = word.substr(0, word.find('='));
        return fmt::format("unknown option {}{}", quote(flag), suggestion(flag, flag_names(app)));
      }
  if (extras)
    for (const std::string& word : app.remaining())
      return fmt::format("unexpected argument {}", quote(word));
  const std::string all = printable(e.what());
  std::string_view text = all;
  while (text.ends_with("\\n") || text.ends_with(' '))
    text.remove_suffix(text.ends_with(' ') ? 1 : 2);
  if (dynamic_cast<const CLI::ConversionError*>(&e))
    for (const CLI::Option* o : app.get_options())
      if (!takes_value(*o) && text.find(o->get_name() + " = ") != text.npos)
        return o->get_name() + " takes no value";
  return plain_text(text);
}

// Refuses an empty value, as from an unset variable of a script. Patterns and --prompt have errors
// of their own.
void check_values(const CLI::App& app) {
  for (const CLI::Option* o : app.get_options()) {
    if (o->get_positional() || o->check_lname("prompt") || o->get_type_name() == "PATTERN")
      continue;
    for (const std::string& value : o->results())
      if (value.empty()) fail_usage("--{} has an empty value", o->get_lnames().front());
  }
}

// A check that fails before the program has a report.
Outcome outcome_of(const Program& program, const std::function<Outcome()>& action) {
  try {
    return action();
  } catch (const Error& e) {
    if (e.fault() != Fault::check) throw;
    Outcome failed;
    failed.report.program = program.name;
    failed.failure = e;
    return failed;
  }
}

void print_outcome(const Program& program, const Common& c, const Outcome& outcome,
                   bool stdout_taken, bool dry_run) {
  if (c.quiet && !c.json) return;
  if (c.verbose) {
    if (outcome.report.item == "tensors")
      for (const std::string& line : selected_rows(outcome.report)) print_line(program.name, line);
    for (const std::string& line : outcome.details) print_line(program.name, line);
  }
  Report shown = outcome.report;
  if (c.summary && shown.item == "tensors") shown.rows.clear();
  if (c.summary) shown.parts.clear();
  if (dry_run && !c.json)
    shown.notes.push_back(c.reports.empty() ? "dry run: nothing was written"
                                            : "dry run: nothing but reports was written");
  const int to = stdout_taken ? STDERR_FILENO : STDOUT_FILENO;
  const std::string text = c.json ? to_json(shown) : to_text(shown, terminal_width(to));
  if (stdout_taken)
    std::fputs(text.c_str(), stderr);
  else
    print_result(text);
}

// Opened before the work, so that a path that cannot be written fails early.
std::deque<OutputFile> open_reports(const Common& c) {
  for (const std::string& path : c.reports) check_report_path(path);
  std::deque<OutputFile> out;
  for (const std::string& path : c.reports) out.emplace_back(path, c.force);
  return out;
}

// 'It'\''s' unless a shell reads the word unchanged.
std::string shell_word(const std::string& word) {
  const auto plain = [](unsigned char c) {
    return std::isalnum(c) || std::strchr("_-+=.,:/@%", c) || c >= 0x80;
  };
  if (!word.empty() && std::all_of(word.begin(), word.end(), plain)) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

// The given options that determine the results; not those of outputs and threads.
std::string deciding_options(const CLI::App& app) {
  std::string out;
  for (const CLI::Option* o : app.get_options()) {
    if (o->count() == 0 || o->get_positional()) continue;
    const std::string name = "--" + o->get_lnames().front();
    static constexpr std::string_view locations[] = {"--output",
                                                     "--out-dir",
                                                     "--mask-out",
                                                     "--dry-run",
                                                     "--keep-going",
                                                     "--skip-existing",
                                                     "--keep-other-weights",
                                                     "--state",
                                                     "--resume",
                                                     "--json",
                                                     "--summary",
                                                     "--report",
                                                     "--force",
                                                     "--threads",
                                                     "--strict",
                                                     "--progress",
                                                     "--quiet",
                                                     "--verbose"};
    if (std::find(std::begin(locations), std::end(locations), name) != std::end(locations))
      continue;
    for (const std::string& value : o->results())
      out += (out.empty() ? "" : " ") + name + (takes_value(*o) ? " " + shell_word(value) : "");
  }
  return out;
}

// From /proc: getrusage() may report the peak of the parent process, such as a notebook.
std::uint64_t peak_memory() {
  constexpr std::string_view key = "VmHWM:";  // in kB
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(key)) return std::strtoull(line.c_str() + key.size(), nullptr, 10) * 1024;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

void print_cost(const Program& program, std::chrono::steady_clock::time_point start) {
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  print_line(program.name,
             fmt::format("{:.2f} s, peak memory {}", seconds.count(), human_bytes(peak_memory())));
}

}  // namespace

void print_line(const char* program, const std::string& text) {
  // A text that quotes a file is cut to a readable length.
  constexpr std::size_t most = 16'384;
  const std::string_view shown = std::string_view(text).substr(0, most);
  std::string line =
      fmt::format("{}: {}{}\n", program, shown, shown.size() < text.size() ? "..." : "");
  std::fputs(line.c_str(), stderr);
}

// Occupies closed standard descriptors, so that no file that is opened later gets the printed text.
// Each is opened for the wrong direction, so that its use still fails.
void occupy_standard_descriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(fd, F_GETFD) < 0) (void)!open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

namespace {

// Ranks above 0 wait: rank 0 most likely prints the same error, and mpirun then ends the others within
// two seconds.
void print_error(const Program& program, const std::string& text) {
  const int rank = program.rank ? program.rank() : 0;
  if (rank > 0) std::this_thread::sleep_for(std::chrono::seconds(3));
  print_line(program.name, rank > 0 ? fmt::format("rank {}: {}", rank, text) : text);
}

// For ranks above 0, which print nothing.
void silence(Common& c) {
  c.quiet = true;
  c.verbose = c.json = false;
  c.progress = "never";
  c.reports.clear();
}

}  // namespace

int run(const Program& program, int argc, char** argv, const Define& define) {
  const auto start = std::chrono::steady_clock::now();
  overwrite_option = "--force";
  occupy_standard_descriptors();
  install_fault_handler(program.name);
  install_interrupt_handlers();
  std::signal(SIGXFSZ, SIG_IGN);  // a file size limit is an error of write()
  Common common;
  CLI::App app;
  std::function<Outcome()> action;
  const bool is_heard = !program.rank || program.rank() == 0;
  try {
    Common unread;
    load_extensions(argc, argv, [&](CLI::App& a) { define_app(program, define, a, unread); });
    action = define_app(program, define, app, common);
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return is_heard ? print_about(program, app, e) : 0;
    print_error(program, usage_text(app, e));
    return static_cast<int>(Fault::usage);
  } catch (const Error& e) {
    print_error(program, e.what());
    return static_cast<int>(e.fault());
  }
  try {
    if (const char* wrong = kernels::isa_error()) fail_usage("{}", wrong);
    check_values(app);
    if (common.threads > 0) set_threads(common.threads);
    if (common.strict) set_strict(true);
    set_log_sink([&](const std::string& text) {
      if (!common.quiet) print_line(program.name, "warning: " + text);
    });
    const std::vector<std::string> outputs = output_files(app);
    const bool stdout_taken = std::any_of(outputs.begin(), outputs.end(), [](const auto& path) {
      return path == "-" || descriptor_named(path) == STDOUT_FILENO;
    });
    if (common.quiet && common.verbose) fail_usage("--quiet and --verbose exclude each other");
    if (!is_heard) silence(common);
    check_paths(app, common.json);
    if (is_heard) watch_outputs(program.name, output_files(app));
    std::deque<OutputFile> reports = open_reports(common);
    Outcome outcome = outcome_of(program, action);
    Report& report = outcome.report;
    report.options = deciding_options(app);
    if (outcome.failure && report.failure.empty()) report.failure = outcome.failure->what();
    const CLI::Option* dry_run = app.get_option_no_throw("--dry-run");
    print_outcome(program, common, outcome, stdout_taken || outcome.is_printed,
                  dry_run && dry_run->count() > 0);
    for (std::size_t i = 0; i < reports.size(); ++i)
      write_report(report, common.reports[i], reports[i]);
    if (outcome.failure) throw *outcome.failure;
    if (!common.quiet) print_cost(program, start);
    return 0;
  } catch (const Error& e) {
    if (*e.what()) print_error(program, e.what());  // empty if printed before
    return static_cast<int>(e.fault());
  } catch (const std::bad_alloc&) {
    print_error(program, "out of memory");
  } catch (const std::exception& e) {
    print_error(program, e.what());
  }
  return static_cast<int>(Fault::input);
}

}  // namespace sten::app
