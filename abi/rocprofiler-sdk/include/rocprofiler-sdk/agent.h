// Agents: the processors that records refer to.
#ifndef ROCPROFILER_SDK_AGENT_H
#define ROCPROFILER_SDK_AGENT_H

#include <rocprofiler-sdk/defines.h>
#include <rocprofiler-sdk/fwd.h>

#include <stddef.h>
#include <stdint.h>

ROCPROFILER_EXTERN_C_INIT

typedef enum rocprofiler_agent_version_t
{
    ROCPROFILER_AGENT_INFO_VERSION_NONE = 0,
    ROCPROFILER_AGENT_INFO_VERSION_0    = 1,
    ROCPROFILER_AGENT_INFO_VERSION_LAST = 2,
} rocprofiler_agent_version_t;

// The driver's types, four bytes each, under names that do not collide with its own header.

typedef union rocprofiler_agent_cache_type_t
{
    uint32_t Value;
    struct
    {
        uint32_t Data : 1;
        uint32_t Instruction : 1;
        uint32_t CPU : 1;
        uint32_t HSACU : 1;  // compute unit of a GPU
        uint32_t Reserved : 28;
    } ui32;
} rocprofiler_agent_cache_type_t;

typedef enum rocprofiler_agent_io_link_type_t
{
    ROCPROFILER_AGENT_IO_LINK_TYPE_UNDEFINED = 0,
    ROCPROFILER_AGENT_IO_LINK_TYPE_PCIE      = 2,
    ROCPROFILER_AGENT_IO_LINK_TYPE_XGMI      = 11,
} rocprofiler_agent_io_link_type_t;

typedef union rocprofiler_agent_io_link_flags_t
{
    uint32_t LinkProperty;
    struct
    {
        uint32_t Override : 1;
        uint32_t NonCoherent : 1;
        uint32_t NoAtomics32bit : 1;
        uint32_t NoAtomics64bit : 1;
        uint32_t NoPeerToPeerDMA : 1;
        uint32_t Reserved : 27;
    } ui32;
} rocprofiler_agent_io_link_flags_t;

typedef enum rocprofiler_agent_heap_type_t
{
    ROCPROFILER_AGENT_HEAP_TYPE_SYSTEM     = 0,
    ROCPROFILER_AGENT_HEAP_TYPE_FB_PUBLIC  = 1,
    ROCPROFILER_AGENT_HEAP_TYPE_FB_PRIVATE = 2,
    ROCPROFILER_AGENT_HEAP_TYPE_GDS        = 3,
    ROCPROFILER_AGENT_HEAP_TYPE_LDS        = 4,
    ROCPROFILER_AGENT_HEAP_TYPE_SCRATCH    = 5,
    ROCPROFILER_AGENT_HEAP_TYPE_SVM        = 6,
    ROCPROFILER_AGENT_HEAP_TYPE_MMIO       = 7,
} rocprofiler_agent_heap_type_t;

typedef union rocprofiler_agent_mem_bank_flags_t
{
    uint32_t MemoryProperty;
    struct
    {
        uint32_t HotPluggable : 1;
        uint32_t NonVolatile : 1;
        uint32_t Reserved : 30;
    } ui32;
} rocprofiler_agent_mem_bank_flags_t;

typedef union rocprofiler_agent_sdma_version_t
{
    uint32_t Value;
    struct
    {
        uint32_t uCodeSDMA : 10;
        uint32_t uCodeRes : 10;
        uint32_t Reserved : 12;
    } ui32;
} rocprofiler_agent_sdma_version_t;

typedef union rocprofiler_agent_engine_id_t
{
    uint32_t Value;
    struct
    {
        uint32_t uCode : 10;
        uint32_t Major : 6;
        uint32_t Minor : 6;
        uint32_t Stepping : 8;
        uint32_t Reserved : 2;
    } ui32;
} rocprofiler_agent_engine_id_t;

typedef union rocprofiler_agent_capability_t
{
    uint32_t Value;
    struct
    {
        uint32_t HotPluggable : 1;
        uint32_t HSAMMUPresent : 1;
        uint32_t SharedWithGraphics : 1;
        uint32_t QueueSizePowerOfTwo : 1;
        uint32_t QueueSize32bit : 1;
        uint32_t QueueIdleEvent : 1;
        uint32_t VALimit : 1;
        uint32_t WatchPointsSupported : 1;
        uint32_t WatchPointsTotalBits : 4;
        uint32_t DoorbellType : 2;
        uint32_t AQLQueueDoubleMap : 1;
        uint32_t DebugTrapSupported : 1;
        uint32_t WaveLaunchTrapOverrideSupported : 1;
        uint32_t WaveLaunchModeSupported : 1;
        uint32_t PreciseMemoryOperationsSupported : 1;
        uint32_t DEPRECATED_SRAM_EDCSupport : 1;
        uint32_t Mem_EDCSupport : 1;
        uint32_t RASEventNotify : 1;
        uint32_t ASICRevision : 4;
        uint32_t SRAM_EDCSupport : 1;
        uint32_t SVMAPISupported : 1;
        uint32_t CoherentHostAccess : 1;
        uint32_t DebugSupportedFirmware : 1;
        uint32_t Reserved : 2;
    } ui32;
} rocprofiler_agent_capability_t;

typedef struct rocprofiler_agent_cache_t
{
    uint64_t                       processor_id_low;
    uint64_t                       size;
    uint32_t                       level;
    uint32_t                       cache_line_size;
    uint32_t                       cache_lines_per_tag;
    uint32_t                       association;
    uint32_t                       latency;
    rocprofiler_agent_cache_type_t type;
} rocprofiler_agent_cache_t;

typedef struct rocprofiler_agent_io_link_t
{
    rocprofiler_agent_io_link_type_t  type;
    uint32_t                          version_major;
    uint32_t                          version_minor;
    uint32_t                          node_from;
    uint32_t                          node_to;
    uint32_t                          weight;
    uint32_t                          min_latency;
    uint32_t                          max_latency;
    uint32_t                          min_bandwidth;
    uint32_t                          max_bandwidth;
    uint32_t                          recommended_transfer_size;
    rocprofiler_agent_io_link_flags_t flags;
} rocprofiler_agent_io_link_t;

typedef struct rocprofiler_agent_mem_bank_t
{
    rocprofiler_agent_heap_type_t      heap_type;
    rocprofiler_agent_mem_bank_flags_t flags;
    uint32_t                           width;
    uint32_t                           mem_clk_max;
    uint64_t                           size_in_bytes;
} rocprofiler_agent_mem_bank_t;

// Runtimes that can see the agent, by the environment. All set on a CPU.
typedef struct rocprofiler_agent_runtime_visiblity_t
{
    uint32_t hsa : 1;
    uint32_t hip : 1;
    uint32_t rccl : 1;
    uint32_t rocdecode : 1;
    uint32_t reserved : 28;
} rocprofiler_agent_runtime_visiblity_t;

// An agent. It lives as long as the process. Strings are never null.
typedef struct rocprofiler_agent_v0_t
{
    uint64_t                              size;
    rocprofiler_agent_id_t                id;  // as in records
    rocprofiler_agent_type_t              type;
    uint32_t                              cpu_cores_count;  // more than 0 on a CPU
    uint32_t                              simd_count;       // more than 0 on a GPU
    uint32_t                              mem_banks_count;  // length of mem_banks
    uint32_t                              caches_count;     // length of caches
    uint32_t                              io_links_count;   // length of io_links
    uint32_t                              cpu_core_id_base;
    uint32_t                              simd_id_base;
    uint32_t                              max_waves_per_simd;
    uint32_t                              lds_size_in_kb;
    uint32_t                              gds_size_in_kb;
    uint32_t                              num_gws;
    uint32_t                              wave_front_size;
    uint32_t                              num_xcc;   // at least 1
    uint32_t                              cu_count;  // CPU: its cores
    uint32_t                              array_count;
    uint32_t                              num_shader_banks;
    uint32_t                              simd_arrays_per_engine;
    uint32_t                              cu_per_simd_array;
    uint32_t                              simd_per_cu;
    uint32_t                              max_slots_scratch_cu;
    uint32_t                              gfx_target_version;  // major * 10000 + minor * 100 + step
    uint16_t                              vendor_id;           // PCI
    uint16_t                              device_id;           // PCI
    uint32_t                              location_id;         // PCI bus, device and function
    uint32_t                              domain;              // PCI
    uint32_t                              drm_render_minor;
    uint32_t                              num_sdma_engines;
    uint32_t                              num_sdma_xgmi_engines;
    uint32_t                              num_sdma_queues_per_engine;
    uint32_t                              num_cp_queues;
    uint32_t                              max_engine_clk_ccompute;  // MHz, CPU
    uint32_t                              max_engine_clk_fcompute;  // MHz, GPU
    rocprofiler_agent_sdma_version_t      sdma_fw_version;
    rocprofiler_agent_engine_id_t         fw_version;
    rocprofiler_agent_capability_t        capability;
    uint32_t                              cu_per_engine;
    uint32_t                              max_waves_per_cu;  // simd_per_cu * max_waves_per_simd
    uint32_t                              family_id;
    uint32_t                              workgroup_max_size;
    uint32_t                              grid_max_size;
    uint64_t                              local_mem_size;  // bytes
    uint64_t                              hive_id;
    uint64_t                              gpu_id;  // the driver's id, 0 on a CPU
    rocprofiler_dim3_t                    workgroup_max_dim;
    rocprofiler_dim3_t                    grid_max_dim;
    const rocprofiler_agent_mem_bank_t*   mem_banks;
    const rocprofiler_agent_cache_t*      caches;
    const rocprofiler_agent_io_link_t*    io_links;
    const char*                           name;
    const char*                           vendor_name;
    const char*                           product_name;
    const char*                           model_name;
    uint32_t                              node_id;
    int32_t                               logical_node_id;       // 0, 1, 2... over all agents
    int32_t                               logical_node_type_id;  // 0, 1, 2... within the type
    rocprofiler_agent_runtime_visiblity_t runtime_visibility;
    rocprofiler_uuid_t                    uuid;  // zero on a CPU
} rocprofiler_agent_v0_t;

typedef rocprofiler_agent_v0_t rocprofiler_agent_t;

// Receives all agents. The pointers stay valid, the array is valid during the call.
typedef rocprofiler_status_t (*rocprofiler_query_available_agents_cb_t)(
    rocprofiler_agent_version_t version,
    const void**                agents,
    size_t                      num_agents,
    void*                       user_data);

// Calls the callback once and returns its result. agent_size: sizeof(rocprofiler_agent_t).
ROCPROFILER_API rocprofiler_status_t
rocprofiler_query_available_agents(rocprofiler_agent_version_t             version,
                                   rocprofiler_query_available_agents_cb_t callback,
                                   size_t                                  agent_size,
                                   void*                                   user_data);

ROCPROFILER_EXTERN_C_FINI

#endif
