// SPDX-License-Identifier: Apache-2.0
// Operators on dense tensors only: the dispatcher converts other layouts, and reports that.
// Arguments besides the first input are attributes, or integers in further inputs.
#pragma once
#include <functional>
#include <string_view>
#include <vector>

#include "libsten/core/dispatch/operators.h"

namespace sten {

using PlainOperator = std::function<Tensor(const Call&)>;

// Operators that only move elements also run on a device.
enum class Runs { on_cpu, anywhere };

// `backward`: the gradient of the first input; the others have none. Without it, the operator has
// no gradient.
void add_plain(Operators& all, Name op, SavedForBackward saves, PlainOperator forward,
               PlainOperator backward = nullptr, Runs where = Runs::on_cpu);

// Attribute `name`, or input i of the operator, I64 or I32 of rank 0 or 1; the fallback if both are
// missing. In a gradient, the input must be saved (SavedForBackward::others, inputs).
std::vector<Index> list_of(std::string_view op, const Call& call, std::size_t i,
                           std::string_view name, const std::vector<Index>& fallback = {});
// The same for a single integer; else Error (usage).
Index integer_of(std::string_view op, const Call& call, std::size_t i, std::string_view name,
                 Index fallback);
// Error (usage) for more inputs.
void check_inputs(std::string_view op, const Call& call, std::size_t most);

// Bit d tells whether axis d is in axes. Error (usage) for invalid or duplicate axes.
std::vector<bool> axes_named(std::string_view op, const std::vector<Index>& axes, const Shape& x);

}  // namespace sten
