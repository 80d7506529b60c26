# SPDX-License-Identifier: MIT
# Runs after cpack has installed the components, before it packs them: each Debian package gets its
# licence and changelog, and its manual pages are compressed.
foreach(component program dev documents)
  set(folder ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/${component}${CPACK_PACKAGING_INSTALL_PREFIX})
  if(NOT IS_DIRECTORY ${folder})
    continue()
  endif()
  string(TOUPPER ${component} upper)
  set(own ${folder}/share/doc/${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
  file(MAKE_DIRECTORY ${own})
  configure_file(${CPACK_FLOWBACK_SOURCE}/LICENSE ${own}/copyright COPYONLY)
  configure_file(${CPACK_FLOWBACK_SOURCE}/CHANGELOG.md ${own}/changelog COPYONLY)
  file(GLOB pages ${folder}/share/man/man1/*.1)
  foreach(file ${pages} ${own}/changelog)
    execute_process(COMMAND gzip -9nf ${file} COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
endforeach()
