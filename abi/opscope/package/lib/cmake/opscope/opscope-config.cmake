# Defines the target opscope::opscope, wherever the installation was moved to.
get_filename_component(_opscope_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." REALPATH)
if(NOT TARGET opscope::opscope)
    add_library(opscope::opscope SHARED IMPORTED)
    set_target_properties(opscope::opscope PROPERTIES
        IMPORTED_LOCATION "${_opscope_prefix}/@lib@/@file@"
        IMPORTED_SONAME "@soname@"
        INTERFACE_INCLUDE_DIRECTORIES "${_opscope_prefix}/include")
endif()
unset(_opscope_prefix)
