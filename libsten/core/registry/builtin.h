// SPDX-License-Identifier: Apache-2.0
// Registration of all built-in layouts, sparsifiers and conversions.
#pragma once
namespace sten {

class Registry;
void add_builtin(Registry& r);

}  // namespace sten
