// SPDX-License-Identifier: Apache-2.0
#include "libsten/data/jinja/jinja_template.h"

#include "libsten/data/jinja/jinja_parser.h"

namespace sten {

struct JinjaTemplate::Program {
  jinja::Statement run;
};

JinjaTemplate::JinjaTemplate(std::string_view text, std::string name)
    : name_(std::move(name)),
      program_(std::make_shared<Program>(
          Program{jinja::compiled(jinja::tokens_of(text, name_), name_)})) {}

std::string JinjaTemplate::render(const nlohmann::ordered_json& variables) const {
  jinja::Scope scope{name_};
  for (auto at = variables.begin(); at != variables.end(); ++at) scope.set(at.key(), *at);
  program_->run(scope);
  return std::move(scope.output);
}

}  // namespace sten
