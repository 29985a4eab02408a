// Which n:m and n:m:g patterns a tensor has, whatever wrote it.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "libsten/tensor/dense.h"
#include "libsten/tensor/matrix_view.h"
#include "libsten/tensor/positions.h"

namespace sten {

// n kept of m; with g > 0 in groups: n:m:g.
struct Pattern {
  Index n, m, g, axis;
  std::string str() const;  // "2:4", "1:10:4 axis=0": axis 1 is left out for n:m, 0 for n:m:g
  Spec layout() const;
};

// Of 1:2 2:4 1:4 2:8 4:8 1:8 1:10 1:20 on both axes all that hold; and of the strictest of them
// those n:m:g with g of 1, 4 and 16 that hold, fill a chunk and use nine of ten slots. None for a
// tensor that is all zero, of rank below 2, or with lines shorter than m. Ends at the first block
// that breaks the last of them. Of a list: in time and memory that grow with it.
std::vector<Pattern> held_patterns(const Positions& nonzero);
// Of the elements that are not 0; -0.0 is.
std::vector<Pattern> held_patterns(const Dense& x);
// Without those that others imply: 2:4 also is 4:8, 1:8 also is 1:4.
std::string strictest(const std::vector<Pattern>& held);

// Whether a tensor's size in the layout takes numbers that the tensor has, not those of the layout's
// example: nm and nmg, which held_patterns() looks for, and nmgv.
bool is_pattern(std::string_view layout);

// How a tensor of rank 2 or more breaks a structure; none if it holds, as one without elements
// does. Error for a list of positions too large to pack, of other structures than nm,
// nmg and nmgv.
std::optional<std::string> breach(const Positions& nonzero, const Spec& pattern);
std::optional<std::string> breach(const Dense& x, const Spec& pattern);

}  // namespace sten
