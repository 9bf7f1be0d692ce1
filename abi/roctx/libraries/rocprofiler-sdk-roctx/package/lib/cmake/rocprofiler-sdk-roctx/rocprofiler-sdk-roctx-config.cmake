# Defines rocprofiler-sdk-roctx::rocprofiler-sdk-roctx, wherever the installation was moved to. The component `shared-library`
# is always there, as rocprofiler-sdk-roctx::rocprofiler-sdk-roctx-shared-library.
get_filename_component(rocprofiler-sdk-roctx_ROOT_DIR "${CMAKE_CURRENT_LIST_DIR}/../../.." REALPATH)
set(rocprofiler-sdk-roctx_INCLUDE_DIR "${rocprofiler-sdk-roctx_ROOT_DIR}/include")
set(rocprofiler-sdk-roctx_LIB_DIR "${rocprofiler-sdk-roctx_ROOT_DIR}/@lib@")
set(rocprofiler-sdk-roctx_LIBRARIES rocprofiler-sdk-roctx::rocprofiler-sdk-roctx)
if(NOT TARGET rocprofiler-sdk-roctx::rocprofiler-sdk-roctx)
    add_library(rocprofiler-sdk-roctx::rocprofiler-sdk-roctx-shared-library SHARED IMPORTED)
    set_target_properties(rocprofiler-sdk-roctx::rocprofiler-sdk-roctx-shared-library PROPERTIES
        IMPORTED_LOCATION "${rocprofiler-sdk-roctx_LIB_DIR}/@file@"
        IMPORTED_SONAME "@soname@"
        INTERFACE_INCLUDE_DIRECTORIES "${rocprofiler-sdk-roctx_INCLUDE_DIR}")
    add_library(rocprofiler-sdk-roctx::rocprofiler-sdk-roctx INTERFACE IMPORTED)
    set_target_properties(rocprofiler-sdk-roctx::rocprofiler-sdk-roctx PROPERTIES
        INTERFACE_LINK_LIBRARIES rocprofiler-sdk-roctx::rocprofiler-sdk-roctx-shared-library)
endif()
foreach(_rocprofiler_sdk_roctx_component IN LISTS rocprofiler-sdk-roctx_FIND_COMPONENTS)
    if(_rocprofiler_sdk_roctx_component STREQUAL "shared-library")
        set(rocprofiler-sdk-roctx_${_rocprofiler_sdk_roctx_component}_FOUND TRUE)
    elseif(rocprofiler-sdk-roctx_FIND_REQUIRED_${_rocprofiler_sdk_roctx_component})
        set(rocprofiler-sdk-roctx_FOUND FALSE)
        set(rocprofiler-sdk-roctx_NOT_FOUND_MESSAGE
            "rocprofiler-sdk-roctx has no component '${_rocprofiler_sdk_roctx_component}'; it has shared-library")
    endif()
endforeach()
unset(_rocprofiler_sdk_roctx_component)
