// SPDX-License-Identifier: Apache-2.0
// Expressions, by recursive descent in the precedence of Jinja.
#pragma once

#include "libsten/data/jinja/jinja_lexer.h"
#include "libsten/data/jinja/jinja_scope.h"

namespace sten::jinja {

class ExpressionParser {
 public:
  ExpressionParser(std::vector<Token> tokens, const std::string& name)
      : tokens_(std::move(tokens)), name_(name) {}

 protected:
  const Token& here() const { return tokens_[at_]; }
  bool is(TokenKind kind, std::string_view text) const {
    return here().kind == kind && here().text == text;
  }
  bool takes(TokenKind kind, std::string_view text);
  bool takes_symbol(std::string_view text) { return takes(TokenKind::symbol, text); }
  bool takes_name(std::string_view text) { return takes(TokenKind::name, text); }
  void need_symbol(std::string_view text);
  void need(TokenKind kind, const char* what);
  std::string need_name();
  [[noreturn]] void fail(const std::string& why) const;

  Expression expression();
  // Also a tuple without parentheses.
  Expression expressions();

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  const std::string& name_;
  int level_ = 0;

 private:
  struct CallArguments {
    std::vector<Expression> all;
    std::vector<std::pair<std::string, Expression>> named;
  };

  Expression either();
  Expression both();
  Expression negated();
  Expression comparison();
  Expression sum();
  Expression joined();
  Expression product();
  Expression power();
  Expression unary(bool takes_filters);
  Expression with_postfix(Expression x, bool takes_filters);
  Expression member(Expression x);
  Expression subscript(Expression x);
  Expression filter(Expression x);
  Expression test(Expression x);
  Expression primary();
  Expression list(std::string_view close);
  Expression object();
  Expression function_call(const std::string& function);
  CallArguments arguments();
};

}  // namespace sten::jinja
