// Version of the markers: 10000 * major + 100 * minor + patch.
#ifndef ROCPROFILER_SDK_ROCTX_VERSION_H
#define ROCPROFILER_SDK_ROCTX_VERSION_H

#define ROCTX_IS_ROCPROFILER_SDK 1

// The older roctracer/roctx.h has macros of these names; where both are included, these count.
#undef ROCTX_VERSION_MAJOR
#undef ROCTX_VERSION_MINOR
#define ROCTX_VERSION_MAJOR 1
#define ROCTX_VERSION_MINOR 0
#define ROCTX_VERSION_PATCH 0
#define ROCTX_VERSION_STRING "1.0.0"
#define ROCTX_VERSION                                                                              \
    ((10000 * ROCTX_VERSION_MAJOR) + (100 * ROCTX_VERSION_MINOR) + ROCTX_VERSION_PATCH)

#endif
