# SPDX-License-Identifier: MIT
# The registry of engines. libipt is optional; without it MakeDecoder says how to get it.
if(FLOWBACK_LIBIPT)
  add_subdirectory(${CMAKE_CURRENT_SOURCE_DIR}/pt/libipt)
endif()

flowback_room(decoders
  SOURCES decoders.cc summarize.cc
  ROOMS flowback_base $<TARGET_NAME_IF_EXISTS:flowback_pt>
        $<TARGET_NAME_IF_EXISTS:flowback_libipt>)
target_compile_definitions(flowback_decoders PRIVATE
  FLOWBACK_HAS_NATIVE=$<TARGET_EXISTS:flowback_pt>
  FLOWBACK_HAS_LIBIPT=$<TARGET_EXISTS:flowback_libipt>)
