// The explicit list of what the toolkit brings along.
#pragma once
namespace sten {

class Registry;
void add_builtin(Registry& r);

class Operators;
// Theirs is in libsten/ops/builtin.cpp.
void add_builtin_operators(Operators& all);

}  // namespace sten
