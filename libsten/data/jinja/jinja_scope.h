// SPDX-License-Identifier: Apache-2.0
// The state of a rendering, and compiled parts of a template.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "libsten/core/base/error.h"
#include "libsten/data/jinja/jinja_value.h"

namespace sten::jinja {

inline constexpr std::size_t most_steps = 1000000, most_output = std::size_t{16} << 20;
inline constexpr std::size_t most_copied = std::size_t{1} << 30;  // bytes of all values
inline constexpr int most_levels = 100;  // of nested expressions, statements and macro calls

enum class Flow { normal, continues, breaks };

struct Scope;
using Expression = std::function<Value(Scope&)>;
using Statement = std::function<Flow(Scope&)>;
using Arguments = std::vector<Value>;

struct Macro {
  std::vector<std::string> parameters;
  std::vector<Expression> defaults;  // empty functions: none
  Statement body;
};
struct DefinedMacro {
  std::shared_ptr<const Macro> macro;
  std::size_t scopes;  // of the definition, whose variables the macro sees
};

struct Scope {
  const std::string& name;  // of the template, for errors
  std::vector<std::map<std::string, Value, std::less<>>> variables{{}};  // innermost last
  std::map<std::string, DefinedMacro, std::less<>> macros{};
  std::string output{};
  std::size_t steps = 0, copied = 0;
  int level = 0;

  Value* find(std::string_view variable);
  void set(const std::string& variable, Value v) { variables.back()[variable] = std::move(v); }
  // Counts a step, and checks the limits.
  void step(int line);
  // Counts the bytes of a new value, and checks the limits of their sum and of nesting.
  Value counted(int line, Value v);
  [[noreturn]] void fail(int line, const std::string& why) const;
  [[noreturn]] void fail_long(int line) const;
};

// Counts levels in a scope.
class Level {
 public:
  explicit Level(int& level) : level_(++level) {}
  ~Level() { --level_; }
  Level(const Level&) = delete;
  Level& operator=(const Level&) = delete;
  bool is_too_deep() const { return level_ > most_levels; }

 private:
  int& level_;
};

// The value after a filter, the result of a test, and those of a function and of a method. Error
// (usage) for unknown ones, and for operands of other types. `named`: keyword arguments.
Value filtered(Scope& s, int line, const std::string& filter, const Value& x, const Arguments& more,
               const Value& named);
bool passes(Scope& s, int line, const std::string& test, const Value& x, const Arguments& more);
Value called(Scope& s, int line, const std::string& function, const Arguments& all,
             const Value& named);
bool is_function(std::string_view name);  // of Jinja's, or of chat templates
Value called_method(Scope& s, int line, const Value& x, const std::string& method,
                    const Arguments& all);

}  // namespace sten::jinja
