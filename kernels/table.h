// Which kernels of a family a process runs, by instruction set.
//
// A family is a struct of function pointers, its slots, and nothing else. It lists the tables that
// there are, the lowest ISA first; the reference fills all slots. A slot that a table leaves null
// is that of the tables before it, so a table may have one kernel only, and an ISA that a family
// does not list runs the best below it (as contexts of BLIS do: inherit, then override). Slots that
// count on each other, such as a product and the order that it wants its operand in, are overridden
// together.
//
// The source file of each family is its list and two functions. These files look alike, but a macro
// for them would hide more than it saves.
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
  const Table* table;  // nullptr where the build or the CPU lacks it
};
template <class Table>
using IsaTables = std::initializer_list<IsaTable<Table>>;

// The slots of `own` that are not null take the places of those of `table`.
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

// What `isa` runs of a family that lists these.
template <class Table>
Table inherited(IsaTables<Table> list, Isa isa) {
  Table all{};
  for (const IsaTable<Table>& own : list)
    if (own.isa <= isa && own.table) override_slots(all, *own.table);
  return all;
}

// The same for every ISA, made once.
template <class Table>
class Tables {
 public:
  Tables(IsaTables<Table> list) {
    for (std::size_t i = 0; i < std::size(all_isas); ++i) tables_[i] = inherited(list, all_isas[i]);
  }
  Tables(const Tables&) = delete;
  // nullptr where has_isa() says no.
  const Table* of(Isa isa) const {
    return has_isa(isa) ? &tables_[static_cast<int>(isa)] : nullptr;
  }
  // Of active_isa().
  const Table& active() const { return *active_; }

 private:
  Table tables_[std::size(all_isas)];
  const Table* active_ = &tables_[static_cast<int>(active_isa())];
};

}  // namespace sten::kernels
