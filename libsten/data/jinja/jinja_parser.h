// SPDX-License-Identifier: Apache-2.0
// Compiles a template.
#pragma once
#include "libsten/data/jinja/jinja_lexer.h"
#include "libsten/data/jinja/jinja_scope.h"

namespace sten::jinja {

// The statements of a whole template. Error (usage) that starts with `name`.
Statement compiled(std::vector<Token> tokens, const std::string& name);

}  // namespace sten::jinja
