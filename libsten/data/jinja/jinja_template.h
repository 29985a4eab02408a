// SPDX-License-Identifier: Apache-2.0
// Jinja templates (Ronacher 2008), as far as chat templates of Hugging Face models use them, with the
// environment of transformers: trim_blocks, lstrip_blocks, break and continue, raise_exception(),
// strftime_now() and tojson with ensure_ascii=False.
#pragma once
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace sten {

class JinjaTemplate {
 public:
  // Messages of errors start with `name`. Error (usage) with the line for invalid syntax and
  // unsupported statements.
  JinjaTemplate(std::string_view text, std::string name);

  // The text for these variables, an object. Error (usage) with the line for unsupported filters,
  // tests, functions and types of operands; with the message of raise_exception(); and for loops and
  // texts beyond a limit (10^6 steps, 16 MB).
  std::string render(const nlohmann::ordered_json& variables) const;

 private:
  struct Program;
  std::string name_;
  std::shared_ptr<const Program> program_;
};

}  // namespace sten
