// SPDX-License-Identifier: Apache-2.0
#include "kernels/isa.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

using namespace sten::kernels;

namespace {

Isa best() { return choose_isa(nullptr).isa; }

std::string isa_error(const char* wanted) { return choose_isa(wanted).error; }

}  // namespace

TEST_CASE("without a name the best ISA of this CPU is chosen") {
  CHECK(isa_error(nullptr).empty());
  CHECK(choose_isa("").isa == best());
  CHECK(isa_error("").empty());
  CHECK(has_isa(best()));
  for (const Isa isa : all_isas)
    if (isa > best()) CHECK_FALSE(has_isa(isa));
}

TEST_CASE("a name selects its ISA, or the best one with an error if it is unavailable") {
  CHECK(has_isa(Isa::reference));
  for (const Isa isa : all_isas) {
    const std::string name = name_of(isa);
    CAPTURE(name);
    const std::string error = isa_error(name.c_str());
    CHECK(choose_isa(name.c_str()).isa == (has_isa(isa) ? isa : best()));
    if (has_isa(isa)) {
      CHECK(error.empty());
    } else {
      CHECK(error == "STEN_ISA=" + name +
                         ": this machine or this build has no such kernels, the best is " +
                         name_of(best()));
    }
  }
}

TEST_CASE("an unknown ISA name is an error and selects the best ISA") {
  const std::string known = "' (expected one of reference, avx2, avx512, avx512_bf16 and amx)";
  CHECK(isa_error("AVX2") == "STEN_ISA: unknown ISA 'AVX2" + known);
  CHECK(choose_isa("AVX2").isa == best());
  CHECK(isa_error(std::string(1000, 'x').c_str()) ==
        "STEN_ISA: unknown ISA '" + std::string(40, 'x') + known);
}

TEST_CASE("the process uses the ISA that STEN_ISA names") {
  const char* wanted = std::getenv("STEN_ISA");
  CHECK(active_isa() == choose_isa(wanted).isa);
  CHECK((isa_error() == nullptr ? "" : isa_error()) == isa_error(wanted));
}
