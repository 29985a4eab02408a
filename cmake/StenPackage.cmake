# SPDX-License-Identifier: Apache-2.0
# Debian packages by `cpack -G DEB`, one for each component of StenInstall.cmake, in a build that was
# configured with CMAKE_INSTALL_PREFIX=/usr. docs/contributing.md describes a release.
set(CPACK_PACKAGE_NAME sten)
set(CPACK_PACKAGE_VENDOR "the sten authors")
set(contact nobody@sten.invalid)  # a field that packages must have
if(STEN_CONTACT)
  set(contact ${STEN_CONTACT})
endif()
set(CPACK_PACKAGE_CONTACT "The sten authors <${contact}>")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
    WORLD_READ WORLD_EXECUTE)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL programs library devel)
foreach(plugin IN ITEMS mpi cuda)
  if(TARGET sten_${plugin})
    list(APPEND CPACK_COMPONENTS_ALL ${plugin})
  endif()
endforeach()

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_LIBRARY_OUTPUT_DIRECTORY})
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
file(WRITE ${CMAKE_BINARY_DIR}/debian/triggers "activate-noawait ldconfig\n")
foreach(id IN ITEMS LIBRARY MPI CUDA)
  set(CPACK_DEBIAN_${id}_PACKAGE_CONTROL_EXTRA ${CMAKE_BINARY_DIR}/debian/triggers)
endforeach()
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
# Manuals and documents as Debian has them, and no search paths of libraries.
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/StenDebian.cmake)
set(CPACK_STEN_SOURCE ${PROJECT_SOURCE_DIR})
set(CPACK_STEN_BUILD ${CMAKE_BINARY_DIR})
set(CPACK_STEN_DOCDIR ${CMAKE_INSTALL_DATADIR}/doc)

# sten_package(COMPONENT NAME SECTION DEPENDS DESCRIPTION): DESCRIPTION is a summary line and further
# lines.
macro(sten_package component name section depends description)
  string(TOUPPER ${component} id)
  set(CPACK_DEBIAN_${id}_PACKAGE_NAME ${name})
  set(CPACK_DEBIAN_${id}_PACKAGE_SECTION ${section})
  set(CPACK_DEBIAN_${id}_PACKAGE_DEPENDS "${depends}")
  set(CPACK_DEBIAN_${id}_DESCRIPTION "${description}")
  set(CPACK_STEN_${component}_PACKAGE ${name})
endmacro()
set(release "${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}")
set(library libsten${PROJECT_VERSION_MAJOR})
set(about "sten prunes trained neural networks, stores them in sparse layouts,
and trains and runs them. It reads and writes the checkpoints of PyTorch,
Hugging Face, ONNX and GGUF.")

# libsten loads oneDNN and OpenBLAS by their sonames, which dpkg-shlibdeps does not see. Without them,
# dense products use a slow loop, so they are no mere recommendation.
set(loaded)
if(STEN_HAS_openblas)
  list(APPEND loaded libopenblas0)
endif()
if(STEN_HAS_onednn)
  file(STRINGS ${onednn_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h major REGEX "define DNNL_VERSION_MAJOR ")
  string(REGEX REPLACE "[^0-9]" "" major "${major}")
  list(APPEND loaded libdnnl${major})
endif()
list(JOIN loaded ", " loaded)

sten_package(programs sten science "${library} (= ${release})" "sparse neural networks: programs
${about}
.
This package has the programs sten-prune, sten-convert, sten-energy,
sten-train, sten-run and sten-bench, and sten, which runs them.")
sten_package(library ${library} libs "${loaded}" "sparse neural networks: library
${about}
.
This package has the shared library.")
sten_package(devel libsten-dev libdevel "${library} (= ${release}), libfmt-dev, nlohmann-json3-dev" "sparse neural networks: development files
${about}
.
This package has the headers of the C++20 library, its CMake package and
its pkg-config file.")
sten_package(mpi sten-mpi science "${library} (= ${release})" "sparse neural networks: distributed training by MPI
${about}
.
This package has the plug-in that the library loads in processes that
mpirun has started.")
sten_package(cuda sten-cuda contrib/science "${library} (= ${release})" "sparse neural networks: CUDA kernels
${about}
.
This package has the plug-in that the library loads for --device cuda. It
needs NVIDIA's driver, and loads cuBLAS and cuSPARSE.")
set(CPACK_DEBIAN_DEVEL_PACKAGE_SHLIBDEPS OFF)
include(CPack)
