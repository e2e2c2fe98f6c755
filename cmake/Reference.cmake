# Has the docstrings of the extension written as headers: src/dnnmove/_reference/NAME.txt as reference/NAME.hpp.
#
# They lie in the build folder; the target dnnmove_reference makes them alone. scripts/make_reference.py says how the
# texts are written.
function(dnnmove_reference target)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/generated)
  set(script ${CMAKE_CURRENT_SOURCE_DIR}/scripts/make_reference.py)
  set(passages ${CMAKE_CURRENT_SOURCE_DIR}/src/dnnmove/_reference/passages.txt)
  file(GLOB texts CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/src/dnnmove/_reference/*.txt)
  list(REMOVE_ITEM texts ${passages})
  foreach(text IN LISTS texts)
    cmake_path(GET text STEM name)
    set(header ${folder}/reference/${name}.hpp)
    add_custom_command(OUTPUT ${header} COMMAND ${Python_EXECUTABLE} ${script} ${text} ${header}
                       DEPENDS ${text} ${passages} ${script} VERBATIM)
    list(APPEND headers ${header})
  endforeach()
  add_custom_target(dnnmove_reference DEPENDS ${headers})
  add_dependencies(${target} dnnmove_reference)
  target_include_directories(${target} PRIVATE ${folder})
endfunction()
