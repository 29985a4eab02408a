// SPDX-License-Identifier: Apache-2.0
// The results that docs/adding-a-kernel.md states for its ISA; kernel.sh compiles this file with
// the changes of the page.
#include <doctest/doctest.h>

#include <cstring>
#include <iterator>
#include <string>

#include "kernels/csr.h"
#include "kernels/elementwise.h"
#include "kernels/epilogue.h"
#include "kernels/functions.h"
#include "kernels/nm_select.h"
#include "kernels/nmg_exact.h"
#include "kernels/nmg_gemm.h"
#include "kernels/nmg_small_batch.h"
#include "kernels/peak.h"
#include "kernels/rows.h"

using namespace sten::kernels;

namespace {

// The number of slots in which the new ISA differs from AVX-512.
template <class Table>
int own_slots(const Table* (*table_for)(Isa)) {
  const auto* own = reinterpret_cast<const unsigned char*>(table_for(Isa::avx512_icl));
  const auto* below = reinterpret_cast<const unsigned char*>(table_for(Isa::avx512));
  int n = 0;
  for (std::size_t at = 0; at < sizeof(Table); at += sizeof(void (*)()))
    n += std::memcmp(own + at, below + at, sizeof(void (*)())) != 0;
  return n;
}

}  // namespace

TEST_CASE("a new ISA is selected by its name if the CPU supports it") {
  CHECK(std::string(name_of(Isa::avx512_icl)) == "avx512_icl");
  CHECK((choose_isa("avx512_icl").isa == Isa::avx512_icl) == has_isa(Isa::avx512_icl));
  CHECK((choose_isa("avx512_icl").error[0] == 0) == has_isa(Isa::avx512_icl));
  CHECK(std::string(choose_isa("none").error) ==
        "STEN_ISA: unknown ISA 'none' (expected one of reference, avx2, avx512, avx512_icl, "
        "avx512_bf16 and amx)");
}

TEST_CASE("the new ISA overrides one kernel and inherits all others from AVX-512") {
  if (!has_isa(Isa::avx512_icl)) {
    MESSAGE("this CPU has no such instructions");
    return;
  }
  CHECK((elementwise_for(Isa::avx512_icl)->count_bits != elementwise_for(Isa::avx512)->count_bits));
  CHECK(own_slots(elementwise_for) == 1);
  CHECK(own_slots(csr_gemm_for) == 0);
  CHECK(own_slots(epilogue_for) == 0);
  CHECK(own_slots(functions_for) == 0);
  CHECK(own_slots(nm_select_for) == 0);
  CHECK(own_slots(nmg_exact_for) == 0);
  CHECK(own_slots(nmg_gemm_for) == 0);
  CHECK(own_slots(nmg_small_batch_for) == 0);
  CHECK(own_slots(peak_for) == 0);
  CHECK(own_slots(rows_for) == 0);
}
