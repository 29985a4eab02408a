// SPDX-License-Identifier: Apache-2.0
// Functions of oneDNN for making and running primitives, and owning handles.
#pragma once
#include <initializer_list>

#include "libsten/compute/linalg/onednn_library.h"

namespace sten::onednn {

#define STEN_ONEDNN_ENTRIES(entry)                                                                 \
  entry(engine_create) entry(stream_create) entry(stream_wait) entry(memory_desc_init_by_tag)      \
      entry(memory_desc_init_by_strides) entry(memory_desc_get_size) entry(                        \
          memory_desc_equal) entry(dilated_convolution_forward_desc_init)                          \
          entry(dilated_convolution_backward_data_desc_init) entry(                                \
              dilated_convolution_backward_weights_desc_init) entry(matmul_desc_init)              \
              entry(primitive_attr_create) entry(primitive_attr_destroy) entry(                    \
                  primitive_attr_set_scratchpad_mode) entry(primitive_attr_set_output_scales)      \
                  entry(primitive_attr_set_post_ops) entry(post_ops_create) entry(                 \
                      post_ops_destroy) entry(post_ops_append_binary) entry(primitive_desc_create) \
                      entry(primitive_desc_destroy) entry(primitive_desc_iterator_create)          \
                          entry(primitive_desc_iterator_next) entry(primitive_desc_iterator_fetch) \
                              entry(primitive_desc_iterator_destroy) entry(primitive_desc_query)   \
                                  entry(primitive_desc_query_md)                                   \
                                      entry(reorder_primitive_desc_create) entry(primitive_create) \
                                          entry(primitive_destroy) entry(primitive_execute)        \
                                              entry(memory_create) entry(memory_destroy)

// Either all functions are loaded, or `engine` is nullptr.
struct Api {
#define STEN_ONEDNN_ENTRY(name) \
  decltype(&dnnl_##name) name = function<decltype(&dnnl_##name)>("dnnl_" #name);
  STEN_ONEDNN_ENTRIES(STEN_ONEDNN_ENTRY)
#undef STEN_ONEDNN_ENTRY
  dnnl_engine_t engine = nullptr;
  dnnl_stream_t stream = nullptr;

  Api();
};
const Api& api();

// A handle that destroys its object.
template <class H, dnnl_status_t (*Api::*destroy)(H)>
class Handle {
 public:
  Handle() = default;
  ~Handle() {
    if (h_) (api().*destroy)(h_);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  H get() const { return h_; }
  H* to() { return &h_; }

 private:
  H h_ = nullptr;
};
using Primitive = Handle<dnnl_primitive_t, &Api::primitive_destroy>;
using Description = Handle<dnnl_primitive_desc_t, &Api::primitive_desc_destroy>;
using AttributesOf = Handle<dnnl_primitive_attr_t, &Api::primitive_attr_destroy>;
using Iterator = Handle<dnnl_primitive_desc_iterator_t, &Api::primitive_desc_iterator_destroy>;
using Memory = Handle<dnnl_memory_t, &Api::memory_destroy>;

struct Argument {
  int what;
  const dnnl_memory_desc_t* description;
  const void* data;
};

// Runs a primitive on the calling thread's team. std::bad_alloc if it fails, which happens without
// memory.
void execute(const Primitive& p, std::initializer_list<Argument> list);

}  // namespace sten::onednn
