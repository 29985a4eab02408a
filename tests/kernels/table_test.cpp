// SPDX-License-Identifier: Apache-2.0
#include "kernels/table.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "kernels/bf16_small_batch.h"
#include "kernels/csr.h"
#include "kernels/elementwise.h"
#include "kernels/epilogue.h"
#include "kernels/families.h"
#include "kernels/functions.h"
#include "kernels/interleaved.h"
#include "kernels/nm_sample.h"
#include "kernels/nm_select.h"
#include "kernels/nmg_exact.h"
#include "kernels/nmg_gemm.h"
#include "kernels/nmg_small_batch.h"
#include "kernels/peak.h"
#include "kernels/rows.h"
#include "kernels/tiles.h"

using namespace sten::kernels;

namespace {

template <class Table>
auto slots_of(const Table& table) {
  std::array<void (*)(), sizeof(Table) / sizeof(void (*)())> slots;
  std::memcpy(slots.data(), &table, sizeof table);
  return slots;
}

template <class Table>
void check_family(const Table* (*table_for)(Isa), const Table& (*active)()) {
  for (const Isa isa : all_isas) {
    const Table* table = table_for(isa);
    REQUIRE((table != nullptr) == has_isa(isa));
    if (table) CHECK(std::ranges::count(slots_of(*table), nullptr) == 0);
  }
  CHECK(&active() == table_for(active_isa()));
}

// A family of three kernels that return the name of their table.
struct WordTable {
  const char* (*first)();
  const char* (*second[2])();
};
const char* reference() { return "reference"; }
const char* avx2() { return "avx2"; }
const char* avx512() { return "avx512"; }
const char* own() { return "own"; }

constexpr WordTable of_reference{reference, {reference, reference}}, of_avx2{avx2, {avx2, avx2}},
    of_avx512{avx512, {avx512, avx512}}, one_own{nullptr, {nullptr, own}};
// An ISA above all existing ones.
constexpr auto made_up = static_cast<Isa>(std::size(all_isas));

std::string words_of(const WordTable& w) {
  return std::string(w.first()) + " " + w.second[0]() + " " + w.second[1]();
}

}  // namespace

TEST_CASE("every kernel family has a complete table for each ISA of this machine") {
  check_family(bf16_small_batch_for, bf16_small_batch);
  check_family(csr_gemm_for, csr_gemm);
  check_family(elementwise_for, elementwise);
  check_family(epilogue_for, epilogue);
  check_family(functions_for, functions);
  check_family(nm_sample_for, nm_sample);
  check_family(nm_select_for, nm_select);
  check_family(nmg_exact_for, nmg_exact);
  check_family(nmg_gemm_for, nmg_gemm);
  check_family(nmg_small_batch_for, nmg_small_batch);
  check_family(interleaved_for, interleaved);
  check_family(peak_for, peak);
  check_family(rows_for, rows);
  check_family(tiles_for, tiles);
}

TEST_CASE("an ISA with one kernel inherits the rest, and lower ISAs do not use that kernel") {
  const auto words = [](Isa isa) {
    return words_of(inherited<WordTable>({{Isa::reference, &of_reference},
                                          {Isa::avx2, &of_avx2},
                                          {Isa::avx512, &of_avx512},
                                          {made_up, &one_own}},
                                         isa));
  };
  CHECK(words(made_up) == "avx512 avx512 own");
  CHECK(words(Isa::avx512) == "avx512 avx512 avx512");
  CHECK(words(Isa::avx2) == "avx2 avx2 avx2");
  CHECK(words(Isa::reference) == "reference reference reference");
}

TEST_CASE("an ISA without a table uses the best available table below it") {
  const auto words = [](IsaTables<WordTable> list) { return words_of(inherited(list, made_up)); };
  CHECK(
      words({{Isa::reference, &of_reference}, {Isa::avx2, &of_avx2}, {Isa::avx512, &of_avx512}}) ==
      "avx512 avx512 avx512");
  // Tables that the build or the CPU lacks are skipped.
  CHECK(words({{Isa::reference, &of_reference}, {Isa::avx2, &of_avx2}, {Isa::avx512, nullptr}}) ==
        "avx2 avx2 avx2");
  CHECK(words({{Isa::reference, &of_reference}}) == "reference reference reference");
}

TEST_CASE("a real kernel table inherits its missing kernels") {
  RowsTable own{};
  own.scale = [](const float*, std::int64_t, float, float*) {};
  const RowsTable all = inherited<RowsTable>({{Isa::reference, rows_reference()},
                                              {Isa::avx2, built(rows_avx2)},
                                              {Isa::avx512, built(rows_avx512)},
                                              {made_up, &own}},
                                             made_up);
  const RowsTable* avx512 = built(rows_avx512);  // nullptr if simd/ is absent
  RowsTable wanted = avx512 ? *avx512 : *rows_reference();
  wanted.scale = own.scale;
  CHECK((slots_of(all) == slots_of(wanted)));
}
