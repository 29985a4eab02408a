// SPDX-License-Identifier: Apache-2.0
#include "kernels/families.h"

#include "kernels/bf16_attention.h"
#include "kernels/bf16_small_batch.h"
#include "kernels/channels.h"
#include "kernels/csr.h"
#include "kernels/elementwise.h"
#include "kernels/epilogue.h"
#include "kernels/functions.h"
#include "kernels/interleaved.h"
#include "kernels/interleaved_panels.h"
#include "kernels/nm_sample.h"
#include "kernels/nm_select.h"
#include "kernels/nmg_exact.h"
#include "kernels/nmg_gemm.h"
#include "kernels/nmg_small_batch.h"
#include "kernels/panels.h"
#include "kernels/peak.h"
#include "kernels/rows.h"
#include "kernels/table.h"
#include "kernels/tiles.h"
#include "kernels/winograd.h"

namespace sten::kernels {

#define KERNEL_TABLE(isa, suffix, name, ...) {Isa::isa, built(name##_##suffix __VA_ARGS__)},

#define KERNEL_FAMILY(name, Table)                                     \
  static const Tables<Table>& name##_tables() {                        \
    static const Tables<Table> all{KERNEL_TABLES(KERNEL_TABLE, name)}; \
    return all;                                                        \
  }                                                                    \
  const Table* name##_for(Isa isa) { return name##_tables().of(isa); } \
  const Table& name() { return name##_tables().active(); }

#define KERNEL_FAMILY_BY_LANES(name, Table)                                                     \
  template <std::int64_t lanes>                                                                 \
  static const Tables<Table>& name##_tables_of() {                                              \
    static const Tables<Table> all{KERNEL_TABLES(KERNEL_TABLE, name, , lanes)};                 \
    return all;                                                                                 \
  }                                                                                             \
  static const Tables<Table>& name##_tables(std::int64_t lanes) {                               \
    return lanes == narrow_panel_width ? name##_tables_of<narrow_panel_width>()                 \
                                       : name##_tables_of<panel_width>();                       \
  }                                                                                             \
  const Table* name##_for(Isa isa, std::int64_t lanes) { return name##_tables(lanes).of(isa); } \
  const Table& name(std::int64_t lanes) { return name##_tables(lanes).active(); }

#include "kernels/families.def"

}  // namespace sten::kernels
