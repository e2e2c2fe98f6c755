# Has the files of each folder compiled as one: most of what a file takes is the reading of headers.
#
# The files of a folder then share their anonymous namespaces: no two of them may give one name two meanings, but for
# functions of parameters that do not convert to each other. Those of kernels and of strategies are left apart: the
# kernels' files differ in their flags, and every strategy names its own constants. DNNMOVE_UNITY_BUILD=OFF compiles
# every file by itself, as `make tidy` does: each includes what it uses.
function(dnnmove_unite target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${DNNMOVE_UNITY_BUILD} UNITY_BUILD_MODE GROUP)
  foreach(source IN LISTS ARGN)
    if(NOT source MATCHES "/(kernels|strategies)/")
      cmake_path(GET source PARENT_PATH folder)
      cmake_path(RELATIVE_PATH folder BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
      string(REPLACE "/" "_" group ${folder})
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group})
    endif()
  endforeach()
endfunction()
