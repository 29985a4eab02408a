// The explicit list of what the toolkit brings along.
#pragma once
namespace sten {

class Registry;
void add_builtin(Registry& r);

}  // namespace sten
