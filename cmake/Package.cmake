# SPDX-License-Identifier: MIT
# cpack --config build/PRESET/CPackConfig.cmake makes three Debian packages: flowback (program, manual
# pages, completions), flowback-dev (library, headers), flowback-doc.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME flowback)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "The flowback authors <flowback@example.org>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL program dev documents)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/DebianFiles.cmake)
set(CPACK_FLOWBACK_SOURCE ${PROJECT_SOURCE_DIR})  # for DebianFiles.cmake

set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME flowback)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS "qemu-user, gdb")
set(CPACK_DEBIAN_PROGRAM_DESCRIPTION "records what a program executed, and explains it
 flowback records the branch trace of a processor (Intel PT, LBR, BRBE), or runs
 the program in an emulator, and rebuilds every executed instruction. It explains
 crashes, slow calls, waits for locks and code that never ran, and it steps
 backward in gdb.")

set(CPACK_DEBIAN_DEV_PACKAGE_NAME flowback-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "libarchive-dev, libcapstone-dev, libelf-dev, libfmt-dev, \
libipt-dev, liblzma-dev, libzycore-dev, libzydis-dev, libzstd-dev, nlohmann-json3-dev, zlib1g-dev")
set(CPACK_DEBIAN_DEV_DESCRIPTION "library that decodes recordings of flowback (development files)
 Headers, static libraries, and CMake and pkg-config packages of flowback.")

set(CPACK_DEBIAN_DOCUMENTS_PACKAGE_NAME flowback-doc)
set(CPACK_DEBIAN_DOCUMENTS_PACKAGE_SECTION doc)
set(CPACK_DEBIAN_DOCUMENTS_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_DOCUMENTS_DESCRIPTION "documents of flowback
 Tutorial, how-to pages, reference and explanations of flowback.")
include(CPack)
