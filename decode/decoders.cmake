# SPDX-License-Identifier: MIT
# The registry of engines. libipt is optional; without it MakeDecoder says how to get it.
if(FLOWBACK_LIBIPT)
  add_subdirectory(${CMAKE_CURRENT_SOURCE_DIR}/pt/libipt)
endif()

# What every engine inherits: below the engines, as the registry is above them.
flowback_room(summarize SOURCES effort.cc flow_totals.cc summarize.cc ROOMS flowback_base)

flowback_room(decoders
  SOURCES decoders.cc
  ROOMS flowback_base flowback_summarize)
foreach(engine native:pt libipt:libipt)
  string(REPLACE ":" ";" engine ${engine})
  list(GET engine 0 name)
  list(GET engine 1 room)
  string(TOUPPER ${name} name)
  if(TARGET flowback_${room})
    target_link_libraries(flowback_${room} PUBLIC flowback_summarize)
    target_link_libraries(flowback_decoders PUBLIC flowback_${room})
    target_compile_definitions(flowback_decoders PRIVATE FLOWBACK_HAS_${name}=1)
  endif()
endforeach()
