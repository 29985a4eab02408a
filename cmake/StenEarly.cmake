# SPDX-License-Identifier: Apache-2.0
# What the quickstart shows first: sten-prune with the early rooms of libsten and the kernels for any CPU,
# without --schedule, calibration and devices. Stubs in absent/ stand in for the others.
add_executable(sten-prune-first libsten/programs/absent/staged.cpp kernels/absent/simd.cpp)
sten_target(sten-prune-first)
get_property(rooms GLOBAL PROPERTY STEN_EARLY_ROOMS)
foreach(objects IN LISTS rooms ITEMS sten-prune-flags sten_options sten_main sten_kernels)
  target_sources(sten-prune-first PRIVATE $<TARGET_OBJECTS:${objects}>)
endforeach()
target_link_libraries(sten-prune-first PRIVATE sten_dependencies)
set_target_properties(sten-prune-first PROPERTIES OUTPUT_NAME sten-prune
                      RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/first)
