// SPDX-License-Identifier: Apache-2.0
#include "libsten/data/jinja/jinja_template.h"

#include "libsten/data/jinja/jinja_parser.h"

namespace sten {

struct JinjaTemplate::Program {
  jinja::Statement run;
};

namespace {

// With \n for each end of a line, as Jinja reads templates.
std::string with_newlines(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n') continue;
    out += text[i] == '\r' ? '\n' : text[i];
  }
  return out;
}

}  // namespace

JinjaTemplate::JinjaTemplate(std::string_view text, std::string name)
    : name_(std::move(name)),
      program_(std::make_shared<Program>(
          Program{jinja::compiled(jinja::tokens_of(with_newlines(text), name_), name_)})) {}

std::string JinjaTemplate::render(const nlohmann::ordered_json& variables) const {
  jinja::Scope scope{name_};
  for (auto at = variables.begin(); at != variables.end(); ++at) scope.set(at.key(), *at);
  program_->run(scope);
  return std::move(scope.output);
}

}  // namespace sten
