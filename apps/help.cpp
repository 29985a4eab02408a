#include "apps/help.h"

#include <sstream>
#include <utility>

namespace sten::app {

std::string value_name(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  return type.substr(0, type.find(':'));
}

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

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

}  // namespace sten::app
