// Error codes of models.
#ifndef ACL_ERROR_CODES_GE_ERROR_CODES_H
#define ACL_ERROR_CODES_GE_ERROR_CODES_H

#include <stddef.h>
#include <stdint.h>

static const uint32_t ACL_ERROR_GE_PARAM_INVALID                = 145000;
static const uint32_t ACL_ERROR_GE_EXEC_NOT_INIT                = 145001;
static const uint32_t ACL_ERROR_GE_EXEC_MODEL_PATH_INVALID      = 145002;
static const uint32_t ACL_ERROR_GE_EXEC_MODEL_ID_INVALID        = 145003;
static const uint32_t ACL_ERROR_GE_EXEC_MODEL_DATA_SIZE_INVALID = 145006;
static const uint32_t ACL_ERROR_GE_EXEC_MODEL_ADDR_INVALID      = 145007;
static const uint32_t ACL_ERROR_GE_EXEC_MODEL_QUEUE_ID_INVALID  = 145008;
static const uint32_t ACL_ERROR_GE_EXEC_LOAD_MODEL_REPEATED     = 145009;
static const uint32_t ACL_ERROR_GE_DYNAMIC_INPUT_ADDR_INVALID   = 145011;
static const uint32_t ACL_ERROR_GE_DYNAMIC_INPUT_LENGTH_INVALID = 145012;
static const uint32_t ACL_ERROR_GE_DYNAMIC_BATCH_SIZE_INVALID   = 145013;
static const uint32_t ACL_ERROR_GE_AIPP_BATCH_EMPTY             = 145014;
static const uint32_t ACL_ERROR_GE_AIPP_NOT_EXIST               = 145015;
static const uint32_t ACL_ERROR_GE_AIPP_MODE_INVALID            = 145016;
static const uint32_t ACL_ERROR_GE_FORMAT_INVALID               = 145020;
static const uint32_t ACL_ERROR_GE_SHAPE_INVALID                = 145021;
static const uint32_t ACL_ERROR_GE_DATATYPE_INVALID             = 145022;

static const uint32_t ACL_ERROR_GE_MEMORY_ALLOCATION            = 245000;
static const uint32_t ACL_ERROR_GE_MEMORY_OPERATE_FAILED        = 245001;
static const uint32_t ACL_ERROR_GE_DEVICE_MEMORY_OPERATE_FAILED = 245002;

static const uint32_t ACL_ERROR_GE_INTERNAL_ERROR               = 545000;
static const uint32_t ACL_ERROR_GE_LOAD_MODEL                   = 545001;
static const uint32_t ACL_ERROR_GE_EXEC_RELEASE_MODEL_DATA      = 545006;
static const uint32_t ACL_ERROR_GE_UNLOAD_MODEL                 = 545009;
static const uint32_t ACL_ERROR_GE_MODEL_EXECUTE_TIMEOUT        = 545601;

#endif
