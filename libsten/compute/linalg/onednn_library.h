// SPDX-License-Identifier: Apache-2.0
// The oneDNN library and the thread state that its calls need.
#pragma once
#include <dlfcn.h>
#include <dnnl.h>
#include <signal.h>

#include "libsten/core/base/parallel.h"

namespace sten::onednn {

// The library, limited to the instruction set active_isa(); nullptr if it does not load or does not
// support this ISA.
void* library();

// A function of the library by name, nullptr if missing: function<decltype(&dnnl_sgemm)>("...").
template <class F>
F function(const char* name) {
  return library() ? reinterpret_cast<F>(dlsym(library(), name)) : nullptr;
}

// Sets the calling thread's team size while the object lives. Debian's oneDNN uses OpenMP's
// threads.
class TeamOf {
 public:
  explicit TeamOf(int threads);
  ~TeamOf();
  TeamOf(const TeamOf&) = delete;
  TeamOf& operator=(const TeamOf&) = delete;

 private:
  LentCores lent_;
  int before_ = 0;
};

// While an object lives, signals wait on this thread and on threads it starts. Some kernels of
// oneDNN 2.6.3 keep data below the stack pointer, which a signal handler overwrites; they then
// write to arbitrary memory.
class SignalsHeld {
 public:
  SignalsHeld();
  ~SignalsHeld();
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;

 private:
  sigset_t before_;
};

}  // namespace sten::onednn
