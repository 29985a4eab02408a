// --help in 80 columns.
#pragma once
#include <CLI/CLI.hpp>

namespace sten::app {

// "FILE", without what validators say of themselves.
std::string value_name(const CLI::Option& option);

// Or is a flag.
bool takes_value(const CLI::Option& option);

// Descriptions wrapped in a column of their own.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  std::string make_group(std::string group, bool is_positional,
                         std::vector<const CLI::Option*> options) const override;
};

}  // namespace sten::app
