// Lossless ways between layouts that spare dense, for the registry: the same positions and values
// in memory that grows with what is stored. `to` is the spec to reach; its dims are those of `x`.
#pragma once
#include "libsten/layout/bitmask.h"
#include "libsten/layout/coo.h"
#include "libsten/layout/ell.h"
#include "libsten/layout/entries.h"
#include "libsten/layout/nm.h"
#include "libsten/layout/nmgv.h"

namespace sten {

// The elements in row-major order are those of the matrix row by row.
Csr to_csr(const Bitmask& x);
Bitmask to_bitmask(const Csr& x);

// Without the pointers of rows, which may outnumber entries by far.
Coo to_coo(const Csc& x);
Csc to_csc(const Coo& x);

// Every slot within the tensor: a filler cannot be told from a kept zero.
Csr to_csr(const Nm& x);
Csr to_csr(const Nmg& x);
Csr to_csr(const Nmgv& x);

// What has these entries.
Csr to_csr(const Entries& x, Dims dims);
Coo to_coo(const Entries& x, Dims dims);
Bitmask to_bitmask(const Entries& x);

}  // namespace sten
