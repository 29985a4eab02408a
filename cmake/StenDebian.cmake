# SPDX-License-Identifier: Apache-2.0
# CPack includes this file before it writes Debian packages: changes the staged files of each component
# to what Debian's policy asks for, all with the time SOURCE_DATE_EPOCH where that is set.
string(TIMESTAMP time "%a, %d %b %Y %H:%M:%S +0000" UTC)
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  set(root ${CPACK_TEMPORARY_DIRECTORY}/${component}/usr)
  set(package ${CPACK_STEN_${component}_PACKAGE})
  set(documents ${root}/${CPACK_STEN_DOCDIR}/${package})
  file(MAKE_DIRECTORY ${documents})
  file(REMOVE ${documents}/LICENSE ${documents}/CHANGELOG.md)  # here: copyright and changelog
  execute_process(COMMAND python3 ${CPACK_STEN_SOURCE}/scripts/third_party.py copyright ${CPACK_STEN_BUILD}
                  OUTPUT_FILE ${documents}/copyright COMMAND_ERROR_IS_FATAL ANY)
  file(COPY_FILE ${CPACK_STEN_SOURCE}/CHANGELOG.md ${documents}/changelog)
  file(WRITE ${documents}/changelog.Debian "\
${package} (${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=medium

  * Package of version ${CPACK_PACKAGE_VERSION}, whose changes are in changelog.gz.

 -- ${CPACK_PACKAGE_CONTACT}  ${time}
")
  set(changelogs ${documents}/changelog ${documents}/changelog.Debian)
  file(CHMOD ${documents}/copyright ${changelogs} PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
  file(GLOB pages ${root}/share/man/man1/*.1)
  execute_process(COMMAND gzip -9nf ${changelogs} ${pages} COMMAND_ERROR_IS_FATAL ANY)

  # The folder of libraries is one of the linker's own.
  file(GLOB_RECURSE binaries LIST_DIRECTORIES false ${root}/bin/* ${root}/*.so*)
  foreach(binary IN LISTS binaries)
    if(NOT IS_SYMLINK ${binary})
      file(RPATH_REMOVE FILE ${binary})
    endif()
  endforeach()
endforeach()
if(DEFINED ENV{SOURCE_DATE_EPOCH})
  execute_process(COMMAND find ${CPACK_TEMPORARY_DIRECTORY} -exec touch -hd @$ENV{SOURCE_DATE_EPOCH} {} +
                  COMMAND_ERROR_IS_FATAL ANY)
endif()
