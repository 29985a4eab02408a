// SPDX-License-Identifier: Apache-2.0
#include "apps/help.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <utility>

namespace sten::app {

std::string value_name(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  return type.substr(0, type.find(':'));
}

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

std::string summary(const CLI::Option& option) {
  const std::string text = option.get_description();
  return text.substr(0, text.find('\n'));
}

std::vector<std::string> details(const CLI::Option& option) {
  std::istringstream text(option.get_description());
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  if (!lines.empty()) lines.erase(lines.begin());
  return lines;
}

std::vector<std::string> option_groups(const CLI::App& app) {
  std::vector<std::string> all = app.get_groups();
  std::erase_if(all, [&](const std::string& g) { return options_of(app, g).empty(); });
  const auto place = [](const std::string& g) {
    return g == groups::common    ? 0
           : g == groups::batches ? 2
           : g == groups::outputs ? 3
           : g == groups::general ? 4
                                  : 1;
  };
  std::ranges::stable_sort(all, {}, place);
  return all;
}

std::vector<const CLI::Option*> options_of(const CLI::App& app, const std::string& group) {
  return app.get_options([&](const CLI::Option* o) {
    return !o->get_positional() && !group.empty() && o->get_group() == group;
  });
}

namespace {

constexpr std::size_t text_column = 24, width = 80;

// Wraps from the second line on in the column of texts; further lines of an item are indented.
std::string wrapped(const std::string& text, std::string line) {
  const std::size_t indent = text_column + (text.starts_with("- ") ? 2 : 0);
  std::string out;
  std::istringstream words(text);
  std::size_t start = line.size();
  for (std::string word; words >> word;) {
    if (line.size() + word.size() + 1 > width) {
      out += line + "\n";
      line.assign(indent, ' ');
      start = indent;
    }
    line += line.size() > start ? " " + word : word;
  }
  return out + line + "\n";
}

bool is_rare(const Program& program, const CLI::Option& option) {
  return std::any_of(program.rare.begin(), program.rare.end(),
                     [&](const char* name) { return option.check_name(name); });
}

std::string entry(const CLI::Option& option, bool all) {
  std::string name = option.get_name(option.get_positional(), true);
  for (std::size_t comma; (comma = name.find(",-")) != std::string::npos;)
    name.replace(comma, 1, ", ");
  if (!option.get_positional() && takes_value(option)) name += " " + value_name(option);
  std::string out = "  " + name, line;
  if (out.size() + 2 > text_column)
    out += "\n";
  else
    line = std::exchange(out, "");
  line.resize(text_column, ' ');
  out += wrapped(summary(option), line);
  if (all)
    for (const std::string& text : details(option))
      out += wrapped(text, std::string(text_column, ' '));
  return out;
}

}  // namespace

std::string help_text(const Program& program, const CLI::App& app, bool all) {
  const CLI::Formatter formatter;
  std::string out = formatter.make_description(&app) + formatter.make_usage(&app, program.name);
  const auto add_group = [&](const std::string& title,
                             const std::vector<const CLI::Option*>& group) {
    std::string entries;
    for (const CLI::Option* o : group)
      if (all || !is_rare(program, *o)) entries += entry(*o, all);
    if (!entries.empty()) out += "\n" + title + ":\n" + entries;
  };
  add_group("Arguments", app.get_options([](const CLI::Option* o) { return o->get_positional(); }));
  for (const std::string& group : option_groups(app)) add_group(group, options_of(app, group));
  out += "\n" + formatter.make_footer(&app);
  if (!all)
    out += fmt::format("{} --help-all prints every option with its details.\n", program.name);
  return out;
}

}  // namespace sten::app
