# SPDX-License-Identifier: Apache-2.0
# STEN_HAS_CUDA: whether the CUDA kernels are built, which is where nvcc is found. Sanitized builds,
# whose runtimes are clang's, do without.
option(STEN_CUDA "Build the CUDA kernels where nvcc is found" ON)
set(STEN_HAS_CUDA OFF)
if(STEN_CUDA AND NOT STEN_SANITIZE)
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 80-real 90)  # 90 as PTX, too, for what comes after it
  endif()
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
    # Not by FindCUDAToolkit, which in CMake 3.25 fails at the libraries of CUDA 13.
    find_library(cudart_static_LIBRARY cudart_static HINTS ${CMAKE_CUDA_IMPLICIT_LINK_DIRECTORIES})
    mark_as_advanced(cudart_static_LIBRARY)
    if(cudart_static_LIBRARY)
      set(STEN_HAS_CUDA ON)
    endif()
  endif()
endif()
if(STEN_HAS_CUDA)
  set(cuda_text "CUDA kernels: by nvcc ${CMAKE_CUDA_COMPILER_VERSION} for ${CMAKE_CUDA_ARCHITECTURES}")
else()
  set(cuda_text "CUDA kernels: not built")
endif()
message(STATUS "${cuda_text}")
file(WRITE ${CMAKE_BINARY_DIR}/cuda.txt "${cuda_text}\n")  # for the log of tests
