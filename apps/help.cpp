#include "apps/help.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "apps/main.h"

namespace sten::app {

std::string value_name(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  return type.substr(0, type.find(':'));
}

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

std::vector<std::string> option_groups(const CLI::App& app) {
  std::vector<std::string> all = app.get_groups();
  std::erase_if(all, [&](const std::string& g) { return options_of(app, g).empty(); });
  const auto place = [](const std::string& g) {
    return g == groups::common    ? 0
           : g == groups::batches ? 2
           : g == groups::outputs ? 3
           : g == groups::running ? 4
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

std::string HelpFormatter::make_option(const CLI::Option* option, bool is_positional) const {
  constexpr std::size_t column = 24, width = 80;
  std::string name = is_positional ? option->get_name(true) : option->get_name(false, true);
  for (std::size_t comma; (comma = name.find(",-")) != std::string::npos;)
    name.replace(comma, 1, ", ");
  if (!is_positional && takes_value(*option)) name += " " + value_name(*option);
  std::string out = "  " + name, line;
  if (out.size() + 2 > column)
    out += "\n";
  else
    line = std::exchange(out, "");
  line.resize(column, ' ');
  std::istringstream words(option->get_description());
  for (std::string word; words >> word;) {
    if (line.size() + word.size() + 1 > width) {
      out += line + "\n";
      line.assign(column, ' ');
    }
    line += line.size() > column ? " " + word : word;
  }
  return out + line + "\n";
}

std::string HelpFormatter::make_group(std::string group, bool is_positional,
                                      std::vector<const CLI::Option*> options) const {
  std::string out = "\n" + group + ":\n";
  for (const CLI::Option* o : options) out += make_option(o, is_positional);
  return out;
}

std::string HelpFormatter::make_help(const CLI::App* app, std::string name,
                                     CLI::AppFormatMode /*mode*/) const {
  std::string out =
      make_description(app) + make_usage(app, std::move(name)) + make_positionals(app);
  for (const std::string& group : option_groups(*app))
    out += make_group(group, false, options_of(*app, group));
  return out + "\n" + make_footer(app);
}

}  // namespace sten::app
