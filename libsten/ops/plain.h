// Operators that read and write dense tensors only: other layouts come and go through dense, and
// the dispatcher says so. What such an operator takes beside its first input may be an attribute,
// or integers that come as a further input.
#pragma once
#include <functional>
#include <string_view>
#include <vector>

#include "libsten/dispatch/operators.h"

namespace sten {

using PlainOperator = std::function<Tensor(const Call&)>;

// What only moves elements does so on a device, too.
enum class Runs { on_cpu, anywhere };

// `backward` makes the gradient of the first input; the others have none. Without one the operator
// has no gradient.
void add_plain(Operators& all, Name op, SavedForBackward saves, PlainOperator forward,
               PlainOperator backward = nullptr, Runs where = Runs::on_cpu);

// Attribute `name`, or input i of the operator, I64 or I32 of rank 0 or 1; the fallback where there
// is neither. A gradient reads that input too, where the operator keeps it (Keeps::others, inputs).
std::vector<Index> list_of(std::string_view op, const Call& call, std::size_t i,
                           std::string_view name, const std::vector<Index>& fallback = {});
// The same, but Error (usage) unless it is one number.
Index integer_of(std::string_view op, const Call& call, std::size_t i, std::string_view name,
                 Index fallback);
// Error (usage) for more inputs.
void check_inputs(std::string_view op, const Call& call, std::size_t most);

// Bit d says whether axis d is among the axes. Error (usage) for one that x has not or that is
// named twice.
std::vector<bool> axes_named(std::string_view op, const std::vector<Index>& axes, const Shape& x);

}  // namespace sten
