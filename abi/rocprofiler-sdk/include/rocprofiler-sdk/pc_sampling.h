// Sampling of program counters. Not implemented.
#ifndef ROCPROFILER_SDK_PC_SAMPLING_H
#define ROCPROFILER_SDK_PC_SAMPLING_H

#include <rocprofiler-sdk/agent.h>
#include <rocprofiler-sdk/defines.h>
#include <rocprofiler-sdk/fwd.h>

ROCPROFILER_EXTERN_C_INIT

typedef struct rocprofiler_pc_sampling_configuration_t
{
    uint64_t                         size;
    rocprofiler_pc_sampling_method_t method;
    rocprofiler_pc_sampling_unit_t   unit;
    size_t                           min_interval;
    size_t                           max_interval;
    uint64_t                         flags;
} rocprofiler_pc_sampling_configuration_t;

typedef struct rocprofiler_pc_sampling_record_invalid_t
{
    uint64_t size;
} rocprofiler_pc_sampling_record_invalid_t;

typedef struct rocprofiler_pc_sampling_record_host_trap_v0_t
{
    uint64_t size;
    uint64_t reserved[10];
} rocprofiler_pc_sampling_record_host_trap_v0_t;

typedef struct rocprofiler_pc_sampling_record_stochastic_v0_t
{
    uint64_t size;
    uint64_t reserved[12];
} rocprofiler_pc_sampling_record_stochastic_v0_t;

typedef enum rocprofiler_pc_sampling_instruction_type_t
{
    ROCPROFILER_PC_SAMPLING_INSTRUCTION_TYPE_NONE             = 0,
    ROCPROFILER_PC_SAMPLING_INSTRUCTION_TYPE_VALU             = 1,
    ROCPROFILER_PC_SAMPLING_INSTRUCTION_TYPE_MATRIX           = 2,
    ROCPROFILER_PC_SAMPLING_INSTRUCTION_TYPE_SCALAR           = 3,
    ROCPROFILER_PC_SAMPLING_INSTRUCTION_TYPE_TEX              = 4,
    ROCPROFILER_PC_SAMPLING_INSTRUCTION_TYPE_LDS              = 5,
    ROCPROFILER_PC_SAMPLING_INSTRUCTION_TYPE_LDS_DIRECT       = 6,
    ROCPROFILER_PC_SAMPLING_INSTRUCTION_TYPE_FLAT             = 7,
    ROCPROFILER_PC_SAMPLING_INSTRUCTION_TYPE_EXPORT           = 8,
    ROCPROFILER_PC_SAMPLING_INSTRUCTION_TYPE_MESSAGE          = 9,
    ROCPROFILER_PC_SAMPLING_INSTRUCTION_TYPE_BARRIER          = 10,
    ROCPROFILER_PC_SAMPLING_INSTRUCTION_TYPE_BRANCH_NOT_TAKEN = 11,
    ROCPROFILER_PC_SAMPLING_INSTRUCTION_TYPE_BRANCH_TAKEN     = 12,
    ROCPROFILER_PC_SAMPLING_INSTRUCTION_TYPE_JUMP             = 13,
    ROCPROFILER_PC_SAMPLING_INSTRUCTION_TYPE_OTHER            = 14,
    ROCPROFILER_PC_SAMPLING_INSTRUCTION_TYPE_NO_INST          = 15,
    ROCPROFILER_PC_SAMPLING_INSTRUCTION_TYPE_DUAL_VALU        = 16,
    ROCPROFILER_PC_SAMPLING_INSTRUCTION_TYPE_LAST             = 17,
} rocprofiler_pc_sampling_instruction_type_t;

typedef enum rocprofiler_pc_sampling_instruction_not_issued_reason_t
{
    ROCPROFILER_PC_SAMPLING_INSTRUCTION_NOT_ISSUED_REASON_NONE                     = 0,
    ROCPROFILER_PC_SAMPLING_INSTRUCTION_NOT_ISSUED_REASON_NO_INSTRUCTION_AVAILABLE = 1,
    ROCPROFILER_PC_SAMPLING_INSTRUCTION_NOT_ISSUED_REASON_ALU_DEPENDENCY           = 2,
    ROCPROFILER_PC_SAMPLING_INSTRUCTION_NOT_ISSUED_REASON_WAITCNT                  = 3,
    ROCPROFILER_PC_SAMPLING_INSTRUCTION_NOT_ISSUED_REASON_INTERNAL_INSTRUCTION     = 4,
    ROCPROFILER_PC_SAMPLING_INSTRUCTION_NOT_ISSUED_REASON_BARRIER_WAIT             = 5,
    ROCPROFILER_PC_SAMPLING_INSTRUCTION_NOT_ISSUED_REASON_ARBITER_NOT_WIN          = 6,
    ROCPROFILER_PC_SAMPLING_INSTRUCTION_NOT_ISSUED_REASON_ARBITER_WIN_EX_STALL     = 7,
    ROCPROFILER_PC_SAMPLING_INSTRUCTION_NOT_ISSUED_REASON_OTHER_WAIT               = 8,
    ROCPROFILER_PC_SAMPLING_INSTRUCTION_NOT_ISSUED_REASON_SLEEP_WAIT               = 9,
    ROCPROFILER_PC_SAMPLING_INSTRUCTION_NOT_ISSUED_REASON_LAST                     = 10,
} rocprofiler_pc_sampling_instruction_not_issued_reason_t;

typedef rocprofiler_status_t (*rocprofiler_available_pc_sampling_configurations_cb_t)(
    const rocprofiler_pc_sampling_configuration_t* configs,
    size_t                                         num_config,
    void*                                          user_data);

ROCPROFILER_API rocprofiler_status_t
rocprofiler_configure_pc_sampling_service(rocprofiler_context_id_t         context_id,
                                          rocprofiler_agent_id_t           agent_id,
                                          rocprofiler_pc_sampling_method_t method,
                                          rocprofiler_pc_sampling_unit_t   unit,
                                          uint64_t                         interval,
                                          rocprofiler_buffer_id_t          buffer_id,
                                          int                              flags);

ROCPROFILER_API rocprofiler_status_t
rocprofiler_query_pc_sampling_agent_configurations(
    rocprofiler_agent_id_t                                agent_id,
    rocprofiler_available_pc_sampling_configurations_cb_t cb,
    void*                                                 user_data);

// Returns null.
ROCPROFILER_API const char*
rocprofiler_get_pc_sampling_instruction_type_name(
    rocprofiler_pc_sampling_instruction_type_t instruction_type);

// Returns null.
ROCPROFILER_API const char*
rocprofiler_get_pc_sampling_instruction_not_issued_reason_name(
    rocprofiler_pc_sampling_instruction_not_issued_reason_t not_issued_reason);

ROCPROFILER_EXTERN_C_FINI

#endif
