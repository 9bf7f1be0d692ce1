# Defines the target ascendcl::ascendcl, wherever the installation was moved to. It is all libraries that the vendor has.
get_filename_component(_ascendcl_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." REALPATH)
if(NOT TARGET ascendcl::ascendcl)
    add_library(ascendcl::ascendcl SHARED IMPORTED)
    set_target_properties(ascendcl::ascendcl PROPERTIES
        IMPORTED_LOCATION "${_ascendcl_prefix}/@lib@/@file@"
        IMPORTED_SONAME "@soname@"
        INTERFACE_INCLUDE_DIRECTORIES "${_ascendcl_prefix}/include")
endif()
unset(_ascendcl_prefix)
