// SPDX-License-Identifier: Apache-2.0
#include "apps/manual.h"

#include <fmt/format.h>

#include <sstream>

#include "apps/help.h"
#include "libsten/core/base/version.h"

namespace sten::app {
namespace {

// Escaped for roff: a '-' that can be copied, and no request at the start of a line.
std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) switch (c) {
      case '\\':
        out += "\\e";
        break;
      case '-':
        out += "\\-";
        break;
      case '\'':
        out += "\\(aq";
        break;
      case '^':
        out += "\\(ha";
        break;
      case '~':
        out += "\\(ti";
        break;
      case '`':
        out += "\\(ga";
        break;
      default:
        out += c;
    }
  return text.starts_with('.') ? "\\&" + out : out;
}

std::string bold(std::string_view text) { return "\\fB" + roff(text) + "\\fR"; }
std::string italic(std::string_view text) { return "\\fI" + roff(text) + "\\fR"; }

// Lines of 72 columns; each sentence starts a new line, as man(7) advises.
std::string paragraph(const std::string& text) {
  std::string out, line;
  std::istringstream words(text);
  const auto end_line = [&] {
    if (!line.empty()) out += line + "\n";
    line.clear();
  };
  for (std::string word; words >> word;) {
    const std::string written = roff(word);
    if (line.size() + written.size() > 72) end_line();
    line += (line.empty() ? "" : " ") + written;
    if (word.ends_with('.') || word.ends_with("...)")) end_line();
  }
  end_line();
  return out;
}

std::string option_entry(const CLI::Option& o) {
  std::string out = ".TP\n";
  if (o.get_positional()) {
    out += italic(o.get_name(true)) + "\n";
  } else {
    bool first = true;
    for (const std::string& name : o.get_snames()) {
      out += (first ? "" : ", ") + bold("-" + name);
      first = false;
    }
    for (const std::string& name : o.get_lnames()) {
      out += (first ? "" : ", ") + bold("--" + name);
      first = false;
    }
    if (takes_value(o)) out += " " + italic(value_name(o));
    out += "\n";
  }
  out += paragraph(summary(o));
  bool in_list = false;
  for (const std::string& text : details(o)) {
    const bool is_item = text.starts_with("- ");
    if (is_item != in_list) out += is_item ? ".RS\n" : ".RE\n.IP\n";
    in_list = is_item;
    if (is_item) out += ".IP \\(bu 2\n";
    out += (is_item || out.ends_with(".IP\n") ? "" : ".br\n") +
           paragraph(is_item ? text.substr(2) : text);
  }
  return out + (in_list ? ".RE\n" : "");
}

std::string examples(const Program& program) {
  std::string out = ".SH EXAMPLES\n";
  const auto add = [&](const char* command) {
    out += ".RS 4\n.EX\n" + roff(command) + "\n.EE\n.RE\n";
  };
  add(program.example);
  for (const Example& e : program.examples) {
    out += ".PP\n" + paragraph(e.title);
    add(e.command);
  }
  return out;
}

std::string description(const Program& program, const CLI::App& app) {
  std::string out = ".SH DESCRIPTION\n" + paragraph(program.purpose);
  out += ".PP\n" + paragraph(
                       "Results are printed on standard output, everything else on standard error. "
                       "An error is one line, after the name of the program.");
  // Programs that change a checkpoint.
  const CLI::Option* output = app.get_option_no_throw("--output");
  if (output && value_name(*output) == "OUT")
    out += ".PP\n" +
           paragraph(
               "Unchanged tensors are copied byte for byte. The output gets its name once it is "
               "complete and on the disk; a failed or interrupted run leaves no output. The same "
               "command on the same input writes the same bytes, for any number of threads.");
  return out;
}

}  // namespace

std::string man_page(const Program& program, const CLI::App& app) {
  std::string title = program.name;
  for (char& c : title) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  std::string purpose = program.purpose;
  purpose[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(purpose[0])));
  while (purpose.ends_with('.')) purpose.pop_back();

  std::string out = ".\\\" Written from the program's options: see apps/manual.cpp\n";
  out += fmt::format(".TH {} 1 \"\" \"sten {}\" \"sten\"\n", roff(title), version());
  out += ".SH NAME\n" + roff(program.name) + " \\- " + roff(purpose) + "\n";
  out += ".SH SYNOPSIS\n" + bold(program.name) + " [" + italic("OPTIONS") + "]";
  for (const CLI::Option* o : app.get_options())
    if (o->get_positional())
      out += " " + italic(o->get_name(true)) + (o->get_items_expected_max() > 1 ? " ..." : "");
  out += "\n" + description(program, app) + ".SH OPTIONS\n";
  for (const CLI::Option* o : app.get_options())
    if (o->get_positional()) out += option_entry(*o);
  for (const std::string& group : option_groups(app)) {
    out += fmt::format(".SS {}\n", roff(group));
    for (const CLI::Option* o : options_of(app, group)) out += option_entry(*o);
  }
  out += examples(program);
  out += ".SH EXIT STATUS\n";
  for (const ExitCode& e : exit_codes)
    out += fmt::format(".TP\n{}\n{}", bold(e.code), paragraph(e.meaning));
  out += ".SH ENVIRONMENT\n";
  out += ".TP\n" + bold("TMPDIR") + "\n" +
         paragraph("Directory of the deleted file that buffers standard input.");
  out += ".TP\n" + bold("STEN_ISA") + "\n" +
         paragraph("Instruction set to use instead of the best one of the CPU.");
  for (const auto& [name, meaning] : program.environment)
    out += ".TP\n" + bold(name) + "\n" + paragraph(meaning);
  out += ".SH SEE ALSO\n";
  std::istringstream programs(STEN_PROGRAMS);
  std::string others;
  for (std::string name; programs >> name;)
    if (name != program.name) others += (others.empty() ? "" : ",\n") + bold(name) + "(1)";
  return out + others + "\n";
}

}  // namespace sten::app
