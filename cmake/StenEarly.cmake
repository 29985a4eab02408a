# What the quickstart shows first: sten-prune with the early rooms of libsten in it, without --schedule,
# calibration and devices, for which stubs in absent/ stand in.
set(absent ${PROJECT_SOURCE_DIR}/libsten/programs/absent/staged.cpp)
if(STEN_HAS_CUDA)
  list(APPEND absent ${PROJECT_SOURCE_DIR}/kernels/absent/cuda.cpp)
endif()
add_executable(sten-prune-first ${absent})
sten_target(sten-prune-first)
get_property(rooms GLOBAL PROPERTY STEN_EARLY_ROOMS)
foreach(objects IN LISTS rooms ITEMS sten-prune-flags sten_options sten_main sten_core_kernels)
  target_sources(sten-prune-first PRIVATE $<TARGET_OBJECTS:${objects}>)
endforeach()
target_link_libraries(sten-prune-first PRIVATE sten_dependencies)
set_target_properties(sten-prune-first PROPERTIES OUTPUT_NAME sten-prune
                      RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/first)
