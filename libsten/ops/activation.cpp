#include <cmath>
#include <numbers>

#include "libsten/base/random.h"
#include "libsten/ops/register.h"
#include "libsten/ops/unary.h"

namespace sten {
namespace {

void add_scale(Operators& all) {
  add_unary(all, "scale", Keeps::nothing, true, []<class T>(T, const Call& call) {
    call.attributes.check("scale", {"by"});
    const T by = static_cast<T>(call.attributes.number("by", 1));
    return std::pair([by](T x, Index) { return x * by; }, [by](T dy, T, Index) { return dy * by; });
  });
}

}  // namespace

void add_activations(Operators& all) { add_scale(all); }

}  // namespace sten
