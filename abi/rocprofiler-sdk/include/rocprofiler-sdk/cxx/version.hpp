// Version numbers, taken apart.
#ifndef ROCPROFILER_SDK_CXX_VERSION_HPP
#define ROCPROFILER_SDK_CXX_VERSION_HPP

#include <rocprofiler-sdk/fwd.h>
#include <rocprofiler-sdk/version.h>

#include <cstdint>

namespace rocprofiler
{
namespace sdk
{
namespace version
{
// Returns the parts of major * Max * Max + minor * Max + patch.
template <uint32_t Max = 100>
constexpr rocprofiler_version_triplet_t
compute_version_triplet(uint64_t version)
{
    return rocprofiler_version_triplet_t{static_cast<uint32_t>(version / (Max * Max)),
                                         static_cast<uint32_t>(version / Max % Max),
                                         static_cast<uint32_t>(version % Max)};
}
}  // namespace version
}  // namespace sdk
}  // namespace rocprofiler

#endif
