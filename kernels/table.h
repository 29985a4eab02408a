// SPDX-License-Identifier: Apache-2.0
// Kernel tables: which kernels of a family a process runs, by ISA.
//
// A family is a struct of function pointers, the slots. families.def lists the families; each has
// tables, lowest ISA first, and the reference fills all slots. A null slot inherits the kernel of the
// previous tables, so a table can have a single kernel, and an ISA without a table runs the best
// one below it (as BLIS contexts: inherit, then override). Slots that depend on each other, such as
// a product and the packing of its operand, are overridden together.
#pragma once
#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <type_traits>

#include "kernels/isa.h"

namespace sten::kernels {

template <class Table>
struct IsaTable {
  Isa isa;
  const Table* table;  // nullptr if the build or the CPU lacks the ISA
};
template <class Table>
using IsaTables = std::initializer_list<IsaTable<Table>>;

// Replaces the slots of `table` by the slots of `own` that are not null.
template <class Table>
void override_slots(Table& table, const Table& own) {
  using Slot = void (*)();
  static_assert(std::is_trivially_copyable_v<Table> && alignof(Table) == alignof(Slot) &&
                sizeof(Table) % sizeof(Slot) == 0);
  for (std::size_t at = 0; at < sizeof(Table); at += sizeof(Slot)) {
    Slot slot;
    std::memcpy(&slot, reinterpret_cast<const std::byte*>(&own) + at, sizeof slot);
    if (slot) std::memcpy(reinterpret_cast<std::byte*>(&table) + at, &slot, sizeof slot);
  }
}

// The table that `isa` runs, from the tables of a family.
template <class Table>
Table inherited(IsaTables<Table> list, Isa isa) {
  Table all{};
  for (const IsaTable<Table>& own : list)
    if (own.isa <= isa && own.table) override_slots(all, *own.table);
  return all;
}

// The tables of all ISAs, built once.
template <class Table>
class Tables {
 public:
  Tables(IsaTables<Table> list) {
    for (std::size_t i = 0; i < std::size(all_isas); ++i) tables_[i] = inherited(list, all_isas[i]);
  }
  Tables(const Tables&) = delete;
  // nullptr unless has_isa(isa).
  const Table* of(Isa isa) const {
    return has_isa(isa) ? &tables_[static_cast<int>(isa)] : nullptr;
  }
  // The table for active_isa().
  const Table& active() const { return *active_; }

 private:
  Table tables_[std::size(all_isas)];
  const Table* active_ = &tables_[static_cast<int>(active_isa())];
};

}  // namespace sten::kernels
