// What the sources that call oneDNN share: the loaded library, and the state that its calls need.
#pragma once
#include <dlfcn.h>
#include <dnnl.h>
#include <signal.h>

#include "libsten/base/parallel.h"

namespace sten::onednn {

// The library, held to the ISA of active_isa(); nullptr where it is not there, or where that ISA is
// none that it knows.
void* library();

// A function of the library, nullptr where it has none such: function<decltype(&dnnl_sgemm)>("...").
template <class F>
F function(const char* name) {
  return library() ? reinterpret_cast<F>(dlsym(library(), name)) : nullptr;
}

// The calling thread's team, as long as it lives. Debian's oneDNN has OpenMP's threads.
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

// While it lives this thread, and those that it starts, handle no signals; they wait. Some kernels
// of oneDNN 2.6.3 keep data below the stack pointer, where the kernel puts what it saves for a
// handler: then they write anywhere.
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
