// The name of counter_config.h before 1.0.0.
#ifndef ROCPROFILER_SDK_PROFILE_CONFIG_H
#define ROCPROFILER_SDK_PROFILE_CONFIG_H

#include <rocprofiler-sdk/deprecated/profile_config.h>

#endif
