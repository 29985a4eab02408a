// SPDX-License-Identifier: Apache-2.0
#include "libsten/data/jinja/jinja_expressions.h"

#include <fmt/format.h>

#include "libsten/core/base/text.h"
#include "libsten/data/jinja/jinja_operators.h"

namespace sten::jinja {

bool ExpressionParser::takes(TokenKind kind, std::string_view text) {
  if (!is(kind, text)) return false;
  ++at_;
  return true;
}
void ExpressionParser::fail(const std::string& why) const {
  fail_usage("{}: line {}: {}", name_, here().line, printable(why));
}
void ExpressionParser::need_symbol(std::string_view text) {
  if (!takes_symbol(text)) fail(fmt::format("expected {}", text));
}
void ExpressionParser::need(TokenKind kind, const char* what) {
  if (here().kind != kind) fail(fmt::format("expected {}", what));
  ++at_;
}
std::string ExpressionParser::need_name() {
  if (here().kind != TokenKind::name) fail("expected a name");
  return tokens_[at_++].text;
}

Expression ExpressionParser::expressions() {
  Expression first = expression();
  if (!is(TokenKind::symbol, ",")) return first;
  std::vector<Expression> all{std::move(first)};
  while (takes_symbol(",")) {
    if (here().kind == TokenKind::block_end || here().kind == TokenKind::print_end) break;
    all.push_back(expression());
  }
  return [all, line = here().line](Scope& s) {
    Value out = Value::array();
    for (const Expression& e : all) out.push_back(e(s));
    return s.counted(line, std::move(out));
  };
}

// value if condition else other
Expression ExpressionParser::expression() {
  const Level level(level_);
  if (level.is_too_deep()) fail("too many levels of expressions");
  Expression x = either();
  while (takes_name("if")) {
    Expression condition = either(), other;
    if (takes_name("else")) other = expression();
    x = [x, condition, other](Scope& s) {
      return truth(condition(s)) ? x(s) : other ? other(s) : undefined();
    };
  }
  return x;
}

Expression ExpressionParser::either() {
  Expression a = both();
  while (takes_name("or"))
    a = [a, b = both()](Scope& s) {
      Value v = a(s);
      return truth(v) ? v : b(s);
    };
  return a;
}
Expression ExpressionParser::both() {
  Expression a = negated();
  while (takes_name("and"))
    a = [a, b = negated()](Scope& s) {
      Value v = a(s);
      return truth(v) ? b(s) : v;
    };
  return a;
}
Expression ExpressionParser::negated() {
  const Level level(level_);
  if (level.is_too_deep()) fail("too many levels of expressions");
  if (!takes_name("not")) return comparison();
  return [x = negated()](Scope& s) -> Value { return !truth(x(s)); };
}

Expression ExpressionParser::comparison() {
  Expression a = sum();
  while (true) {
    const int line = here().line;
    bool is_known = false;
    for (const char* op : {"==", "!=", "<=", ">=", "<", ">"})
      if (takes_symbol(op)) {
        a = [a, b = sum(), op = std::string(op), line](Scope& s) -> Value {
          return compares(s, line, op, a(s), b(s));
        };
        is_known = true;
        break;
      }
    if (is_known) continue;
    const bool is_not = is(TokenKind::name, "not") && tokens_[at_ + 1].text == "in";
    if (is_not) ++at_;
    if (!takes_name("in")) return a;
    a = [a, b = sum(), is_not, line](Scope& s) -> Value {
      return passes(s, line, "in", a(s), {b(s)}) != is_not;
    };
  }
}

Expression ExpressionParser::sum() {
  Expression a = joined();
  while (is(TokenKind::symbol, "+") || is(TokenKind::symbol, "-")) {
    const Token op = tokens_[at_++];
    a = [a, b = joined(), op](Scope& s) { return arithmetic(s, op.line, op.text, a(s), b(s)); };
  }
  return a;
}
Expression ExpressionParser::joined() {
  Expression a = product();
  while (takes_symbol("~"))
    a = [a, b = product(), line = here().line](Scope& s) {
      return concatenated(s, line, text_of(a(s)), text_of(b(s)));
    };
  return a;
}
Expression ExpressionParser::product() {
  Expression a = power();
  while (here().kind == TokenKind::symbol &&
         (here().text == "*" || here().text == "/" || here().text == "//" || here().text == "%")) {
    const Token op = tokens_[at_++];
    a = [a, b = power(), op](Scope& s) { return arithmetic(s, op.line, op.text, a(s), b(s)); };
  }
  return a;
}
// From left to right, and after a sign, unlike Python.
Expression ExpressionParser::power() {
  Expression a = unary(true);
  while (is(TokenKind::symbol, "**")) {
    const Token op = tokens_[at_++];
    a = [a, b = unary(true), op](Scope& s) { return arithmetic(s, op.line, op.text, a(s), b(s)); };
  }
  return a;
}
Expression ExpressionParser::unary(bool takes_filters) {
  const Level level(level_);
  if (level.is_too_deep()) fail("too many levels of expressions");
  const int line = here().line;
  if (takes_symbol("-"))
    return with_postfix(
        [x = unary(false), line](Scope& s) { return arithmetic(s, line, "-", Value(0), x(s)); },
        takes_filters);
  return with_postfix(takes_symbol("+") ? unary(false) : primary(), takes_filters);
}

Expression ExpressionParser::primary() {
  const Token token = here();
  const auto constant = [](Value v) { return [v = std::move(v)](Scope&) { return v; }; };
  ++at_;
  switch (token.kind) {
    case TokenKind::string: {
      std::string text = token.text;
      while (here().kind == TokenKind::string) text += tokens_[at_++].text;
      return constant(std::move(text));
    }
    case TokenKind::number:
      if (token.text.find_first_of(".eE") != token.text.npos)
        return constant(std::strtod(token.text.c_str(), nullptr));
      if (token.text.size() > 15) break;
      return constant(static_cast<std::int64_t>(std::strtoll(token.text.c_str(), nullptr, 10)));
    case TokenKind::name:
      if (token.text == "true" || token.text == "True") return constant(true);
      if (token.text == "false" || token.text == "False") return constant(false);
      if (token.text == "none" || token.text == "None") return constant(nullptr);
      if (takes_symbol("(")) return function_call(token.text);
      return [name = token.text, line = token.line](Scope& s) {
        if (const Value* v = s.find(name)) return s.counted(line, *v);
        // A function is defined, and true.
        return s.macros.contains(name) || is_function(name) ? Value("function " + name)
                                                            : undefined();
      };
    case TokenKind::symbol:
      if (token.text == "[") return list("]");
      if (token.text == "{") return object();
      if (token.text == "(") {
        if (is(TokenKind::symbol, ")")) return list(")");
        Expression x = expression();
        if (takes_symbol(")")) return x;
        need_symbol(",");
        return [x, rest = list(")"), line = token.line](Scope& s) {
          Value all = Value::array({x(s)});
          const Value more = rest(s);
          all.insert(all.end(), more.begin(), more.end());
          return s.counted(line, std::move(all));
        };
      }
      break;
    default:
      break;
  }
  --at_;
  fail(fmt::format("unexpected {}", token.text.empty() ? "end" : token.text));
}

// Up to `close`.
Expression ExpressionParser::list(std::string_view close) {
  std::vector<Expression> all;
  while (!takes_symbol(close)) {
    all.push_back(expression());
    if (!is(TokenKind::symbol, close)) need_symbol(",");
  }
  return [all, line = here().line](Scope& s) {
    Value out = Value::array();
    for (const Expression& e : all) out.push_back(e(s));
    return s.counted(line, std::move(out));
  };
}

Expression ExpressionParser::object() {
  std::vector<std::pair<Expression, Expression>> all;
  while (!takes_symbol("}")) {
    Expression key = expression();
    need_symbol(":");
    all.emplace_back(std::move(key), expression());
    if (!is(TokenKind::symbol, "}")) need_symbol(",");
  }
  return [all, line = here().line](Scope& s) {
    Value out = Value::object();
    for (const auto& [key, value] : all) out[text_of(key(s))] = value(s);
    return s.counted(line, std::move(out));
  };
}

}  // namespace sten::jinja
