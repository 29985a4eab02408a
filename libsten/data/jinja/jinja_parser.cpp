// SPDX-License-Identifier: Apache-2.0
#include "libsten/data/jinja/jinja_parser.h"

#include <fmt/format.h>

#include <algorithm>

#include "libsten/data/jinja/jinja_expressions.h"

namespace sten::jinja {
namespace {

class Parser : public ExpressionParser {
 public:
  using ExpressionParser::ExpressionParser;

  Statement whole() {
    Statement all = statements({});
    if (here().kind != TokenKind::end) fail(fmt::format("unexpected {}", tokens_[at_ + 1].text));
    return all;
  }

 private:
  // Statements up to a block of one of these names, which is not taken.
  Statement statements(const std::vector<std::string_view>& ends) {
    if (++level_ > most_levels) fail("too many levels of blocks");
    std::vector<Statement> all;
    while (here().kind != TokenKind::end) {
      if (here().kind == TokenKind::block_begin) {
        const std::string& name = tokens_[at_ + 1].text;
        if (std::ranges::find(ends, name) != ends.end() || is_end(name)) break;
      }
      all.push_back(statement());
    }
    --level_;
    return [all](Scope& s) {
      for (const Statement& one : all)
        if (const Flow flow = one(s); flow != Flow::normal) return flow;
      return Flow::normal;
    };
  }
  static bool is_end(std::string_view name) {
    return name.starts_with("end") || name == "else" || name == "elif";
  }

  Statement statement() {
    const Token token = here();
    if (token.kind == TokenKind::text) {
      ++at_;
      return [text = token.text](Scope& s) {
        s.output += text;
        return Flow::normal;
      };
    }
    if (token.kind == TokenKind::print_begin) {
      ++at_;
      Expression x = expressions();
      need(TokenKind::print_end, "}}");
      return [x, line = token.line](Scope& s) {
        s.step(line);
        s.output += text_of(x(s));
        return Flow::normal;
      };
    }
    need(TokenKind::block_begin, "a statement");
    const std::string name = need_name();
    if (name == "if") return conditional();
    if (name == "for") return loop(token.line);
    if (name == "set") return assignment(token.line);
    if (name == "macro") return macro();
    if (name == "break" || name == "continue") {
      end_block();
      return [flow = name == "break" ? Flow::breaks : Flow::continues](Scope&) { return flow; };
    }
    if (name == "generation") {  // of transformers: marks the assistant's tokens for training
      end_block();
      return body_until("endgeneration");
    }
    --at_;
    fail(fmt::format("unsupported statement {}", name));
  }
  void end_block() { need(TokenKind::block_end, "%}"); }
  // The statements up to a block with only this name, which is taken.
  Statement body_until(std::string_view end) {
    Statement body = statements({end});
    take_end(end);
    return body;
  }
  void take_end(std::string_view end) {
    if (here().kind == TokenKind::end) fail(fmt::format("missing {}", end));
    ++at_;
    if (!takes_name(end)) fail(fmt::format("expected {}", end));
    end_block();
  }

  Statement conditional() {
    Expression condition = expression();
    end_block();
    Statement then = statements({"elif", "else", "endif"}), otherwise;
    if (here().kind == TokenKind::end) fail("missing endif");
    ++at_;
    if (takes_name("elif")) {
      if (++level_ > most_levels) fail("too many levels of blocks");
      otherwise = conditional();
      --level_;
    } else if (takes_name("else")) {
      end_block();
      otherwise = body_until("endif");
    } else {
      if (!takes_name("endif")) fail("expected endif");
      end_block();
    }
    return [condition, then, otherwise](Scope& s) {
      if (truth(condition(s))) return then(s);
      return otherwise ? otherwise(s) : Flow::normal;
    };
  }

  struct Loop {
    std::vector<std::string> targets;
    Expression over, condition;
    Statement body, otherwise;
    int line;

    void assign(Scope& s, const Value& v) const {
      if (targets.size() == 1) return s.set(targets[0], v);
      if (!v.is_array() || v.size() != targets.size())
        s.fail(line, fmt::format("for: expected {} values, got {}", targets.size(), kind_of(v)));
      for (std::size_t i = 0; i < targets.size(); ++i) s.set(targets[i], v[i]);
    }
    std::vector<Value> elements(Scope& s) const {
      const Value all = over(s);
      std::vector<Value> out;
      if (all.is_string())
        for (std::string& c : characters(all.get_ref<const std::string&>()))
          out.emplace_back(std::move(c));
      else if (all.is_object())
        for (auto at = all.begin(); at != all.end(); ++at) out.emplace_back(at.key());
      else if (all.is_array())
        out.assign(all.begin(), all.end());
      else if (!is_undefined(all))
        s.fail(line, fmt::format("for: expected a list, got {}", kind_of(all)));
      if (!condition) return out;
      std::erase_if(out, [&](const Value& v) {
        assign(s, v);
        return !truth(condition(s));
      });
      return out;
    }
    Flow operator()(Scope& s) const {
      s.variables.emplace_back();
      const std::vector<Value> all = elements(s);
      for (std::size_t i = 0; i < all.size(); ++i) {
        s.step(line);
        s.variables.back().clear();
        s.set("loop", {{"index", i + 1},
                       {"index0", i},
                       {"revindex", all.size() - i},
                       {"revindex0", all.size() - i - 1},
                       {"first", i == 0},
                       {"last", i + 1 == all.size()},
                       {"length", all.size()},
                       {"previtem", i > 0 ? all[i - 1] : undefined()},
                       {"nextitem", i + 1 < all.size() ? all[i + 1] : undefined()}});
        assign(s, all[i]);
        if (body(s) == Flow::breaks) break;
      }
      s.variables.pop_back();
      return all.empty() && otherwise ? otherwise(s) : Flow::normal;
    }
  };

  Statement loop(int line) {
    Loop l;
    l.line = line;
    do l.targets.push_back(need_name());
    while (takes_symbol(","));
    if (!takes_name("in")) fail("expected in");
    l.over = loop_elements();
    if (takes_name("if")) l.condition = expression();
    if (takes_name("recursive")) fail("unsupported statement: recursive loops");
    end_block();
    l.body = statements({"else", "endfor"});
    if (here().kind == TokenKind::block_begin && tokens_[at_ + 1].text == "else") {
      at_ += 2;
      end_block();
      l.otherwise = statements({"endfor"});
    }
    take_end("endfor");
    return l;
  }
  // Without "x if y", since "if" begins the condition of the loop.
  Expression loop_elements() {
    const std::size_t begin = at_;
    int open = 0;
    for (std::size_t i = at_;
         tokens_[i].kind != TokenKind::block_end && tokens_[i].kind != TokenKind::end; ++i) {
      const std::string& t = tokens_[i].text;
      if (tokens_[i].kind == TokenKind::symbol)
        open += (t == "(" || t == "[" || t == "{") - (t == ")" || t == "]" || t == "}");
      if (open == 0 && i > begin && tokens_[i].kind == TokenKind::name && t == "if") {
        // Ends the expression there for a moment.
        const TokenKind kind = std::exchange(tokens_[i].kind, TokenKind::block_end);
        Expression all = expressions();
        tokens_[i].kind = kind;
        return all;
      }
    }
    return expressions();
  }

  // NAME, NAME.member or NAME, ...
  struct Target {
    std::vector<std::string> names;
    std::string member;
    int line;

    void assign(Scope& s, Value v) const {
      if (!member.empty()) {
        Value* of = s.find(names[0]);
        if (!of || !of->is_object())
          s.fail(line, fmt::format("expected a namespace, got {}", names[0]));
        (*of)[member] = std::move(v);
        s.counted(line, *of);
      } else if (names.size() == 1) {
        s.set(names[0], std::move(v));
      } else {
        if (!v.is_array() || v.size() != names.size())
          s.fail(line, fmt::format("set: expected {} values", names.size()));
        for (std::size_t i = 0; i < names.size(); ++i) s.set(names[i], v[i]);
      }
    }
  };

  // set TARGET = value; set TARGET, up to endset
  Statement assignment(int line) {
    Target target{{need_name()}, {}, line};
    if (takes_symbol(".")) target.member = need_name();
    while (takes_symbol(",")) target.names.push_back(need_name());
    if (here().kind == TokenKind::block_end) {
      end_block();
      return [body = body_until("endset"), target](Scope& s) {
        std::string before = std::exchange(s.output, {});
        const Flow flow = body(s);
        target.assign(s, std::exchange(s.output, std::move(before)));
        return flow;
      };
    }
    need_symbol("=");
    Expression x = expressions();
    end_block();
    return [target, x](Scope& s) {
      s.step(target.line);
      target.assign(s, x(s));
      return Flow::normal;
    };
  }

  Statement macro() {
    const std::string name = need_name();
    Macro m;
    need_symbol("(");
    while (!takes_symbol(")")) {
      m.parameters.push_back(need_name());
      m.defaults.push_back(takes_symbol("=") ? expression() : Expression());
      if (!is(TokenKind::symbol, ")")) need_symbol(",");
    }
    end_block();
    m.body = body_until("endmacro");
    return [name, m = std::make_shared<const Macro>(std::move(m))](Scope& s) {
      s.macros[name] = {m, s.variables.size()};
      return Flow::normal;
    };
  }
};

}  // namespace

Statement compiled(std::vector<Token> tokens, const std::string& name) {
  return Parser(std::move(tokens), name).whole();
}

}  // namespace sten::jinja
