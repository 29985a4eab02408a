// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/linalg/onednn_api.h"

#include <new>

namespace sten::onednn {

Api::Api() {
#define STEN_ONEDNN_ENTRY(name) \
  if (!name) return;
  STEN_ONEDNN_ENTRIES(STEN_ONEDNN_ENTRY)
#undef STEN_ONEDNN_ENTRY
  if (engine_create(&engine, dnnl_cpu, 0) != dnnl_success) engine = nullptr;
  // On the CPU, a stream is in order and has no state.
  if (engine && stream_create(&stream, engine, dnnl_stream_default_flags) != dnnl_success)
    engine = nullptr;
}

const Api& api() {
  static const Api loaded;
  return loaded;
}

void execute(const Primitive& p, std::initializer_list<Argument> list) {
  const SignalsHeld held;
  constexpr std::size_t most = 6;
  Memory memories[most];
  dnnl_exec_arg_t args[most];
  int count = 0;
  for (const Argument& a : list) {
    Memory& m = memories[count];
    if (api().memory_create(m.to(), a.description, api().engine, const_cast<void*>(a.data)) !=
        dnnl_success)
      throw std::bad_alloc();
    args[count++] = {a.what, m.get()};
  }
  if (api().primitive_execute(p.get(), api().stream, count, args) != dnnl_success ||
      api().stream_wait(api().stream) != dnnl_success)
    throw std::bad_alloc();
}

}  // namespace sten::onednn
