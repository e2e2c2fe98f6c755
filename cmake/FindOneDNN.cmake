# Finds oneDNN as the target DNNL::dnnl: by its own CMake package where there is one, else by header and library.
#
# A pip wheel, a conda environment, a distribution package or any prefix in CMAKE_PREFIX_PATH will do.
# Sets OneDNN_FOUND and OneDNN_VERSION.

find_package(dnnl CONFIG QUIET)

if(dnnl_FOUND)
  set(OneDNN_VERSION ${dnnl_VERSION})
  set(OneDNN_LOCATION ${dnnl_DIR})
else()
  find_path(OneDNN_INCLUDE_DIR dnnl.hpp)
  find_library(OneDNN_LIBRARY NAMES dnnl libdnnl.so.3)
  mark_as_advanced(OneDNN_INCLUDE_DIR OneDNN_LIBRARY)
  if(OneDNN_INCLUDE_DIR AND OneDNN_LIBRARY)
    set(OneDNN_LOCATION ${OneDNN_LIBRARY})
    file(STRINGS ${OneDNN_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h version_lines
         REGEX "^#define DNNL_VERSION_(MAJOR|MINOR|PATCH) ")
    string(REGEX REPLACE "[^0-9;]" "" version_lines "${version_lines}")
    list(JOIN version_lines "." OneDNN_VERSION)
    if(NOT TARGET DNNL::dnnl)
      add_library(DNNL::dnnl UNKNOWN IMPORTED)
      set_target_properties(DNNL::dnnl PROPERTIES IMPORTED_LOCATION ${OneDNN_LIBRARY}
                                                  INTERFACE_INCLUDE_DIRECTORIES ${OneDNN_INCLUDE_DIR})
    endif()
  endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  OneDNN
  REQUIRED_VARS OneDNN_LOCATION
  VERSION_VAR OneDNN_VERSION HANDLE_VERSION_RANGE
  REASON_FAILURE_MESSAGE
    "oneDNN 3.2 or newer (below 4) is needed: pip install onednn-devel-cpu-gomp==2023.2.0, or conda install onednn, or name its prefix in CMAKE_PREFIX_PATH."
)
