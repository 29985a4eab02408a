// SPDX-License-Identifier: Apache-2.0
// Parses a spec and prints its parts, to test the installed headers, library and package.
#include <iostream>

#include "libsten/core/base/spec.h"

int main() {
  const sten::Spec spec = sten::Spec::parse("nmg:n=1,m=10,g=4");
  std::cout << spec.str() << " keeps " << spec.integer("n") << " of " << spec.integer("m") << '\n';
}
