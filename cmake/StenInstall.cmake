# `cmake --install` gives programs, libsten, its headers and the CMake package: sten::sten,
# and sten::prune-main and the like, which are the programs to link something to.
include(CMakePackageConfigHelpers)

install(TARGETS sten sten_bench ${STEN_MAINS} EXPORT stenTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS ${STEN_PROGRAMS} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
# The reader's header needs the JSON library, which users of the package do without.
install(DIRECTORY libsten DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h"
        PATTERN json_reader.h EXCLUDE)

# Those that libsten's include.
install(DIRECTORY kernels DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h"
        PATTERN simd EXCLUDE PATTERN absent EXCLUDE)

install(FILES recipes/schema.json DESTINATION ${CMAKE_INSTALL_DATADIR}/sten)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/sten)
install(EXPORT stenTargets NAMESPACE sten:: DESTINATION ${package_dir})
configure_package_config_file(cmake/stenConfig.cmake.in ${CMAKE_BINARY_DIR}/stenConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/stenConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/stenConfig.cmake ${CMAKE_BINARY_DIR}/stenConfigVersion.cmake
        DESTINATION ${package_dir})
