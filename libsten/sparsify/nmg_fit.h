// Chooses an n:m:g pattern for every strip: a sparsifier; packing (layout/nmg.h) never chooses.
#pragma once
#include "libsten/layout/nmg.h"
#include "libsten/sparsify/nmg_chunk_fit.h"
#include "libsten/sparsify/sparsifier.h"

namespace sten {

// Every strip of the tensor keeps the n positions of its pattern, zeros among them. Scores are
// summed in float, F64 in double.
//   exact      what keeps the most magnitude in each chunk (kernels/nmg_exact.h); of formats
//              with up to 1024 patterns, and their default
//   swaps      as much, for any number of patterns, by strips that exchange theirs
//              (kernels/block/nmg/nmg_swaps.h): what the paper's rule for GPUs does, and a device
//              where the tables of exact find no room
//   heuristic  greedy, and then pairs of strips change places where that keeps more
//   greedy     the paper's CPU rule (section 5.2)
struct NmgFit {
  static constexpr const char* name = "nmg";
  static constexpr const char* own_keys[] = {"fit"};
  Index n = 1, m = 4, g = 1, axis = 0;
  Dims dims;
  FitMethod method = FitMethod::exact;
  Share share() const { return {n, m}; }
  std::string_view fit_name() const;
  Mask select(const Dense& x, const Hints& hints) const;
  Mask select_stored(const Entries& x, const Hints& hints) const;
  // What select() keeps, as n:m:g with the same numbers: what Nmg::pack() gives, but each chunk is
  // written while it is in cache. kept: where the mask goes; nullptr if not needed.
  // Where x is on a device, so are they; selects_on_device() holds, as for select().
  Nmg fit(const Dense& x, Mask* kept = nullptr) const;
  // What select() keeps of the positions that x stores, fillers among them; the numbers of x are
  // those of the fit. One chunk after the other, and none of them dense for longer than that.
  Nmg fit_again(const Nmg& x) const;
  bool selects_on_device(const Dense& x) const;
  static NmgFit make(const Spec& spec);
};

}  // namespace sten
