// --help in 80 columns.
#pragma once
#include <CLI/CLI.hpp>

namespace sten::app {

// "FILE", without what validators say of themselves.
std::string value_name(const CLI::Option& option);

// Or is a flag.
bool takes_value(const CLI::Option& option);

// The groups of options, as --help and the manual have them: the common ones, those of the program,
// and what all programs have.
std::vector<std::string> option_groups(const CLI::App& app);
std::vector<const CLI::Option*> options_of(const CLI::App& app, const std::string& group);

// Descriptions wrapped in a column of their own.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  std::string make_group(std::string group, bool is_positional,
                         std::vector<const CLI::Option*> options) const override;
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override;
};

}  // namespace sten::app
