#include "libsten/compute/ops/common/device_rows.h"

#include "libsten/compute/ops/common/register.h"

namespace sten {

void add_device_rows(Operators& all) {
  add_device_softmax(all);
  add_device_embedding(all);
  add_device_losses(all);
  add_device_attention(all);
  add_device_batch_norm(all);
  add_device_pools(all);
}

}  // namespace sten
