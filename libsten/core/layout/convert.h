// SPDX-License-Identifier: Apache-2.0
// Lossless conversions between sparse layouts that avoid the dense form, for the registry. Memory
// is proportional to the stored values. The dims are those of x.
#pragma once
#include "libsten/core/layout/bitmask.h"
#include "libsten/core/layout/coo.h"
#include "libsten/core/layout/ell.h"
#include "libsten/core/layout/entries.h"
#include "libsten/core/layout/nm.h"
#include "libsten/core/layout/nmgv.h"

namespace sten {

// The row-major order of bitmask is the order of csr.
Csr to_csr(const Bitmask& x);
Bitmask to_bitmask(const Csr& x);

// Direct conversions, without the row pointers of csr, which may far outnumber the entries.
Coo to_coo(const Csc& x);
Csc to_csc(const Coo& x);

// The result has every slot inside the tensor, since fillers equal kept zeros.
Csr to_csr(const Nm& x);
Csr to_csr(const Nmg& x);
Csr to_csr(const Nmgv& x);

Csr to_csr(const Entries& x, Dims dims);
Coo to_coo(const Entries& x, Dims dims);
Bitmask to_bitmask(const Entries& x);

}  // namespace sten
