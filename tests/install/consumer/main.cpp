// Prints a spec that it parsed and took apart: headers, library and package are all there.
#include <iostream>

#include "libsten/base/spec.h"

int main() {
  const sten::Spec spec = sten::Spec::parse("nmg:n=1,m=10,g=4");
  std::cout << spec.str() << " keeps " << spec.integer("n") << " of " << spec.integer("m") << '\n';
}
