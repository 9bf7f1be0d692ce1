# Defines rocprofiler-sdk::rocprofiler-sdk, wherever the installation was moved to. The components `headers` and `shared-library` are
# always there, as rocprofiler-sdk::rocprofiler-sdk-headers and rocprofiler-sdk::rocprofiler-sdk-shared-library. Nothing else is needed.
get_filename_component(rocprofiler-sdk_ROOT_DIR "${CMAKE_CURRENT_LIST_DIR}/../../.." REALPATH)
set(rocprofiler-sdk_INCLUDE_DIR "${rocprofiler-sdk_ROOT_DIR}/include")
set(rocprofiler-sdk_LIB_DIR "${rocprofiler-sdk_ROOT_DIR}/@lib@")
set(rocprofiler-sdk_LIBRARIES rocprofiler-sdk::rocprofiler-sdk)
if(NOT TARGET rocprofiler-sdk::rocprofiler-sdk)
    add_library(rocprofiler-sdk::rocprofiler-sdk-headers INTERFACE IMPORTED)
    set_target_properties(rocprofiler-sdk::rocprofiler-sdk-headers PROPERTIES
        INTERFACE_INCLUDE_DIRECTORIES "${rocprofiler-sdk_INCLUDE_DIR}")
    # What the vendor's headers need of other packages. These need nothing.
    add_library(rocprofiler-sdk::rocprofiler-sdk-external-nolink INTERFACE IMPORTED)
    add_library(rocprofiler-sdk::rocprofiler-sdk-shared-library SHARED IMPORTED)
    set_target_properties(rocprofiler-sdk::rocprofiler-sdk-shared-library PROPERTIES
        IMPORTED_LOCATION "${rocprofiler-sdk_LIB_DIR}/@file@"
        IMPORTED_SONAME "@soname@"
        INTERFACE_LINK_LIBRARIES rocprofiler-sdk::rocprofiler-sdk-headers)
    add_library(rocprofiler-sdk::rocprofiler-sdk INTERFACE IMPORTED)
    set_target_properties(rocprofiler-sdk::rocprofiler-sdk PROPERTIES
        INTERFACE_LINK_LIBRARIES
        "rocprofiler-sdk::rocprofiler-sdk-headers;rocprofiler-sdk::rocprofiler-sdk-shared-library")
endif()
foreach(_rocprofiler_sdk_component IN LISTS rocprofiler-sdk_FIND_COMPONENTS)
    if(_rocprofiler_sdk_component STREQUAL "headers" OR _rocprofiler_sdk_component STREQUAL "shared-library")
        set(rocprofiler-sdk_${_rocprofiler_sdk_component}_FOUND TRUE)
    elseif(rocprofiler-sdk_FIND_REQUIRED_${_rocprofiler_sdk_component})
        set(rocprofiler-sdk_FOUND FALSE)
        set(rocprofiler-sdk_NOT_FOUND_MESSAGE
            "rocprofiler-sdk has no component '${_rocprofiler_sdk_component}'; it has headers and shared-library")
    endif()
endforeach()
unset(_rocprofiler_sdk_component)
