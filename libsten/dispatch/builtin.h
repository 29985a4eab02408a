// Registration of all built-in layouts, sparsifiers, conversions and operators.
#pragma once
namespace sten {

class Registry;
void add_builtin(Registry& r);

class Operators;
// Defined in libsten/ops/builtin.cpp.
void add_builtin_operators(Operators& all);

}  // namespace sten
