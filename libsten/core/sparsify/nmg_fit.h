// SPDX-License-Identifier: Apache-2.0
// The fit: the sparsifier that chooses a pattern for each strip of n:m:g. Packing (core/layout/nmg.h)
// never chooses.
#pragma once
#include "libsten/core/layout/nmg.h"
#include "libsten/core/sparsify/nmg_chunk_fit.h"
#include "libsten/core/sparsify/sparsifier.h"

namespace sten {

// Every strip keeps the n positions of its pattern, including zeros. Scores are summed in float,
// for F64 in double.
//   exact      keeps the most magnitude in each chunk (kernels/nmg_exact.h); for up to 1024
//              patterns, and their default
//   swaps      keeps as much for any number of patterns, by exchanging the patterns of strips
//              (kernels/block/nmg/nmg_swaps.h): the result of the paper's GPU algorithm. Runs on
//              a device for formats whose tables of exact do not fit there; exact itself then runs
//              on the CPU
//   heuristic  greedy, followed by exchanges between two strips that keep more
//   greedy     the paper's CPU algorithm (section 5.2)
struct NmgFit {
  static constexpr const char* name = "nmg";
  static constexpr SpecDoc doc{
      "nmg:n=1,m=10,g=4[,axis=0][,fit=exact]",
      "one pattern per strip, each used by g strips of a chunk: see [fit](#fit-of-nmg)"};
  static constexpr const char* own_keys[] = {"fit"};
  Index n = 1, m = 4, g = 1, axis = 0;
  Dims dims;
  FitMethod method = FitMethod::exact;
  Share share() const { return {n, m}; }
  std::string_view fit_name() const;
  Mask select(const Dense& x, const Hints& hints) const;
  Mask select_stored(const Entries& x, const Hints& hints) const;
  // The selection of select() as n:m:g with the same parameters. Equal to Nmg::pack() of it, but
  // writes each chunk while it is in cache. kept: receives the mask; may be nullptr. On a device,
  // which needs selects_on_device(x), the results are on the device.
  Nmg fit(const Dense& x, Mask* kept = nullptr) const;
  // The selection of select() from the stored positions of x, including fillers; x has the
  // parameters of this fit. Needs dense memory for one chunk per thread only.
  Nmg fit_again(const Nmg& x) const;
  bool selects_on_device(const Dense& x) const;
  static NmgFit make(const Spec& spec);
};

}  // namespace sten
