// SPDX-License-Identifier: Apache-2.0
// What follows a value: members, subscripts, filters, tests and arguments.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "libsten/data/jinja/jinja_expressions.h"
#include "libsten/data/jinja/jinja_operators.h"

namespace sten::jinja {
namespace {

Value named_values(Scope& s, const std::vector<std::pair<std::string, Expression>>& named) {
  Value out = named.empty() ? Value() : Value::object();
  for (const auto& [key, e] : named) out[key] = e(s);
  return out;
}

// The text of a macro, which sees the variables of its definition and not those of its caller.
Value expanded(Scope& s, const DefinedMacro& defined, const Arguments& all, const Value& named) {
  const std::shared_ptr<const Macro> m = defined.macro;  // its body may define another one
  const std::size_t seen = std::min(defined.scopes, s.variables.size());
  std::vector<std::map<std::string, Value, std::less<>>> hidden(
      std::make_move_iterator(s.variables.begin() + static_cast<std::ptrdiff_t>(seen)),
      std::make_move_iterator(s.variables.end()));
  s.variables.resize(seen);
  s.variables.emplace_back();
  for (std::size_t i = 0; i < m->parameters.size(); ++i) {
    const std::string& p = m->parameters[i];
    s.set(p, i < all.size()                           ? all[i]
             : named.is_object() && named.contains(p) ? named[p]
             : m->defaults[i]                         ? m->defaults[i](s)
                                                      : undefined());
  }
  std::string before = std::exchange(s.output, {});
  m->body(s);
  s.variables.resize(seen);
  std::ranges::move(hidden, std::back_inserter(s.variables));
  return std::exchange(s.output, std::move(before));
}

}  // namespace

Expression ExpressionParser::with_postfix(Expression x, bool takes_filters) {
  while (true) {
    if (takes_symbol("."))
      x = member(std::move(x));
    else if (takes_symbol("["))
      x = subscript(std::move(x));
    else if (takes_filters && takes_symbol("|"))
      x = filter(std::move(x));
    else if (takes_filters && takes_name("is"))
      x = test(std::move(x));
    else
      return x;
  }
}

Expression ExpressionParser::member(Expression x) {
  const int line = here().line;
  std::string name = here().kind == TokenKind::number ? tokens_[at_++].text : need_name();
  if (!takes_symbol("("))
    return [x, name, line](Scope& s) {
      const Value of = x(s);
      if (is_undefined(of)) s.fail(line, fmt::format("undefined value has no member {}", name));
      return element_of(of, name);
    };
  return [x, name, line, given = arguments()](Scope& s) {
    Arguments all;
    for (const Expression& e : given.all) all.push_back(e(s));
    for (const auto& [key, e] : given.named) all.push_back(e(s));
    return called_method(s, line, x(s), name, all);
  };
}

Expression ExpressionParser::subscript(Expression x) {
  const auto bound = [&]() -> Expression {
    if (is(TokenKind::symbol, ":") || is(TokenKind::symbol, "]"))
      return [](Scope&) { return Value(); };
    return expression();
  };
  Expression begin = bound();
  if (!takes_symbol(":")) {
    need_symbol("]");
    return [x, begin](Scope& s) { return element_of(x(s), begin(s)); };
  }
  Expression end = bound(), step = [](Scope&) { return Value(); };
  if (takes_symbol(":")) step = bound();
  need_symbol("]");
  return [x, begin, end, step](Scope& s) { return slice_of(x(s), begin(s), end(s), step(s)); };
}

Expression ExpressionParser::filter(Expression x) {
  const int line = here().line;
  std::string name = need_name();
  CallArguments given;
  if (takes_symbol("(")) given = arguments();
  return [x, name, line, given](Scope& s) {
    Arguments all;
    for (const Expression& e : given.all) all.push_back(e(s));
    s.step(line);
    return filtered(s, line, name, x(s), all, named_values(s, given.named));
  };
}

// is [not] NAME [operand], or NAME(operands)
Expression ExpressionParser::test(Expression x) {
  const int line = here().line;
  const bool is_not = takes_name("not");
  std::string name = need_name();
  std::vector<Expression> given;
  if (takes_symbol("(")) {
    given = arguments().all;
  } else if (const TokenKind k = here().kind;
             k == TokenKind::string || k == TokenKind::number ||
             (k == TokenKind::name && here().text != "and" && here().text != "or" &&
              here().text != "else" && here().text != "if" && here().text != "is" &&
              here().text != "not" && here().text != "in")) {
    given.push_back(with_postfix(primary(), false));
  }
  return [x, name, line, is_not, given](Scope& s) -> Value {
    Arguments all;
    for (const Expression& e : given) all.push_back(e(s));
    return passes(s, line, name, x(s), all) != is_not;
  };
}

// After the parenthesis.
ExpressionParser::CallArguments ExpressionParser::arguments() {
  CallArguments given;
  while (!takes_symbol(")")) {
    const bool is_named = here().kind == TokenKind::name &&
                          tokens_[at_ + 1].kind == TokenKind::symbol &&
                          tokens_[at_ + 1].text == "=";
    if (is_named) {
      std::string name = need_name();
      need_symbol("=");
      given.named.emplace_back(std::move(name), expression());
    } else {
      given.all.push_back(expression());
    }
    if (!is(TokenKind::symbol, ")")) need_symbol(",");
  }
  return given;
}

Expression ExpressionParser::function_call(const std::string& function) {
  const int line = here().line;
  return [function, line, given = arguments()](Scope& s) -> Value {
    s.step(line);
    Arguments all;
    for (const Expression& e : given.all) all.push_back(e(s));
    const Value named = named_values(s, given.named);
    const auto at = s.macros.find(function);
    if (at == s.macros.end()) return called(s, line, function, all, named);
    const Level level(s.level);
    if (level.is_too_deep()) s.fail(line, "too many levels of macros");
    return expanded(s, at->second, all, named);
  };
}

}  // namespace sten::jinja
