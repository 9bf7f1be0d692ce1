/* opscope.h: opscope's C interface. docs/c-api.md is a tour of it.
 *
 * This file is generated from abi/opscope/src; do not edit it.
 *
 * These rules hold for all functions:
 *
 * - A pointer is NULL, or valid as the function's description says: a text ends with NUL and is UTF-8 (a path need not
 *   be), an array has as many elements as the count beside it says, and the place for a result is writable. If a
 *   required pointer is NULL, the call returns OPSCOPE_ERROR_INVALID_ARGUMENT.
 * - A struct begins with its size: set it to sizeof, and all fields that you do not use to zero. Structs grow only at
 *   their end, so a program also works with a newer library. A struct that is passed is only read during the call.
 * - A handle is a number. Handles are never reused: a freed one returns OPSCOPE_ERROR_INVALID_HANDLE. A program that
 *   receives a handle from a function must free it. A freed object that is still in use, for example by a run, lives
 *   until that ends.
 * - Every function may be called from any thread, by several at once, and inside callbacks, unless its description says
 *   otherwise. A call that would wait for the callback that makes it returns OPSCOPE_ERROR_BUSY.
 * - A function that fails returns why, and opscope_error_text returns a sentence about it, for each thread.
 * - Callbacks must return normally: no exception, no longjmp.
 * - In the child of a fork, buffers are empty and work. Models can be loaded and run, unless another thread was loading
 *   or running one at the time of the fork: then the child's calls return an error. Dumpers, profilers and debuggers
 *   stay with the parent.
 * - On a thread that is being torn down (in the destructors of its pthread_key values), calls that keep a text for the
 *   thread return OPSCOPE_ERROR_INVALID_STATE.
 */

#ifndef OPSCOPE_H
#define OPSCOPE_H

#include <stddef.h>
#include <stdint.h>

/// The version of the header, as `major * 10000 + minor * 100 + patch`.
#define OPSCOPE_VERSION 100

/// The category of opscope's own records. Programs use the others, 2 to 255, for their own records.
#define OPSCOPE_CATEGORY 1

/// Stands for no run in place of a run's number. A tensor of no run is the same in every run, because it was computed
/// when the model was loaded. For `opscope_attachment_pause` it stands for all runs.
#define OPSCOPE_NO_RUN UINT64_MAX

/// The result of a call. A call that fails changes nothing, unless its description says otherwise.
typedef enum {
    /// Done.
    OPSCOPE_OK = 0,
    /// There is nothing more: no event is waiting, a batch has no further record. This is not an error.
    OPSCOPE_EMPTY = 1,
    /// A pointer is NULL, a text is not UTF-8, or a number is not one of the constants.
    OPSCOPE_ERROR_INVALID_ARGUMENT = 2,
    /// The `size` of a struct is smaller than that of its first version, or fields that this library does not know are
    /// not zero.
    OPSCOPE_ERROR_INVALID_SIZE = 3,
    /// The handle was freed, or was never returned by this library.
    OPSCOPE_ERROR_INVALID_HANDLE = 4,
    /// The call cannot be made inside a callback, because it would wait for that callback; or another call is using the
    /// object. Or it was made in a signal handler that interrupts another call of its thread: then a record that it
    /// would have emitted is dropped and counted, and `opscope_error_text` has no text for it.
    OPSCOPE_ERROR_BUSY = 5,
    /// The call does not fit the state of the object, such as a context that is not started, or an event that was not
    /// read.
    OPSCOPE_ERROR_INVALID_STATE = 6,
    /// Something that was named does not exist: an operator, a tensor, a breakpoint.
    OPSCOPE_ERROR_NOT_FOUND = 7,
    /// The model cannot be loaded: the file is missing or damaged, or the engine cannot run it.
    OPSCOPE_ERROR_MODEL = 8,
    /// The inputs do not fit the model.
    OPSCOPE_ERROR_INPUT = 9,
    /// The engine failed in a run.
    OPSCOPE_ERROR_RUN_FAILED = 10,
    /// An instrument ended the run.
    OPSCOPE_ERROR_STOPPED = 11,
    /// The time limit of a wait has passed.
    OPSCOPE_ERROR_TIMED_OUT = 12,
    /// The buffer is full, and only the callback that makes this call could free space.
    OPSCOPE_ERROR_FULL = 13,
    /// The call was completed, but requested data is missing. The report says which.
    OPSCOPE_ERROR_INCOMPLETE = 14,
    /// The operating system refused memory, a thread, a file or a socket.
    OPSCOPE_ERROR_SYSTEM = 15,
    /// opscope itself failed. This is a defect of opscope.
    OPSCOPE_ERROR_INTERNAL = 16,
} opscope_status_t;

/// How faithfully the engine follows the file.
typedef enum {
    /// Operators are fused and rewritten: fast, and used for timing.
    OPSCOPE_OPTIMISED = 0,
    /// Every operator is executed as the file has it: used for dumping, comparing and debugging. This is several times
    /// slower.
    OPSCOPE_EXACT = 1,
} opscope_fidelity_t;

/// The type of an element: the codes of ONNX's `TensorProto.DataType`.
typedef enum {
    /// 32-bit float.
    OPSCOPE_FLOAT32 = 1,
    /// Unsigned 8-bit integer.
    OPSCOPE_UINT8 = 2,
    /// Signed 8-bit integer.
    OPSCOPE_INT8 = 3,
    /// Unsigned 16-bit integer.
    OPSCOPE_UINT16 = 4,
    /// Signed 16-bit integer.
    OPSCOPE_INT16 = 5,
    /// Signed 32-bit integer.
    OPSCOPE_INT32 = 6,
    /// Signed 64-bit integer.
    OPSCOPE_INT64 = 7,
    /// Text. It has no representation in bytes.
    OPSCOPE_STRING = 8,
    /// One byte for each element, 0 or 1.
    OPSCOPE_BOOL = 9,
    /// 16-bit float.
    OPSCOPE_FLOAT16 = 10,
    /// 64-bit float.
    OPSCOPE_FLOAT64 = 11,
    /// Unsigned 32-bit integer.
    OPSCOPE_UINT32 = 12,
    /// Unsigned 64-bit integer.
    OPSCOPE_UINT64 = 13,
    /// Two 32-bit floats.
    OPSCOPE_COMPLEX64 = 14,
    /// Two 64-bit floats.
    OPSCOPE_COMPLEX128 = 15,
    /// The upper half of a 32-bit float.
    OPSCOPE_BFLOAT16 = 16,
    /// 8-bit float.
    OPSCOPE_FLOAT8E4M3FN = 17,
    /// 8-bit float.
    OPSCOPE_FLOAT8E4M3FNUZ = 18,
    /// 8-bit float.
    OPSCOPE_FLOAT8E5M2 = 19,
    /// 8-bit float.
    OPSCOPE_FLOAT8E5M2FNUZ = 20,
    /// Two unsigned elements in a byte, the first in the low half.
    OPSCOPE_UINT4 = 21,
    /// Two signed elements in a byte, the first in the low half.
    OPSCOPE_INT4 = 22,
    /// Two floats in a byte, the first in the low half.
    OPSCOPE_FLOAT4E2M1 = 23,
} opscope_dtype_t;

/// The kinds of opscope's own records, whose category is `OPSCOPE_CATEGORY`. `docs/records.md` describes them all.
typedef enum {
    /// One execution of one kernel: an `opscope_dispatch_record_t`.
    OPSCOPE_OPERATOR_DISPATCH = 1,
    /// One run: an `opscope_run_record_t`.
    OPSCOPE_RUN = 2,
    /// A copy of inputs or outputs: an `opscope_copy_record_t`.
    OPSCOPE_TENSOR_COPY = 3,
    /// Memory that the engine holds for a tensor: an `opscope_allocation_record_t`.
    OPSCOPE_TENSOR_ALLOCATION = 4,
    /// A mark or a range: an `opscope_marker_record_t`.
    OPSCOPE_MARKER = 5,
    /// The value of a counter: an `opscope_counter_record_t`.
    OPSCOPE_COUNTER = 6,
    /// A call of the engine: an `opscope_engine_call_record_t`.
    OPSCOPE_ENGINE_CALL = 7,
    /// The end of a correlation id: an `opscope_retirement_record_t`.
    OPSCOPE_CORRELATION_RETIREMENT = 8,
} opscope_kind_t;

/// What happens when a buffer is full.
typedef enum {
    /// The emitting thread waits until the callback has freed space.
    OPSCOPE_LOSSLESS = 0,
    /// The record is dropped and counted, as is every later one until the buffer is flushed.
    OPSCOPE_DISCARD = 1,
    /// The oldest records are dropped and counted.
    OPSCOPE_OVERWRITE = 2,
} opscope_policy_t;

/// Whether a tensor is an operator's input or output.
typedef enum {
    /// An output of the operator.
    OPSCOPE_OUTPUT = 0,
    /// An input of the operator.
    OPSCOPE_INPUT = 1,
} opscope_io_t;

/// What a sink's callback wants to happen next.
typedef enum {
    /// Send what follows.
    OPSCOPE_CONTINUE = 0,
    /// Send no more of this tensor. It does not count as missing.
    OPSCOPE_SKIP = 1,
    /// Send no more of any tensor. This tensor and the selected ones that follow count as missing.
    OPSCOPE_STOP = 2,
    /// Send the same again, immediately. After 1000 times this counts as a stop.
    OPSCOPE_AGAIN = 3,
} opscope_answer_t;

/// The sides of operators that are captured.
typedef enum {
    /// Their outputs.
    OPSCOPE_OUTPUTS = 0,
    /// Their inputs.
    OPSCOPE_INPUTS = 1,
    /// Both.
    OPSCOPE_INPUTS_AND_OUTPUTS = 2,
} opscope_io_selection_t;

/// How pieces reach a sink from the engine.
typedef enum {
    /// On the subscription's own thread. Pieces are copied into a queue of bounded size.
    OPSCOPE_QUEUED = 0,
    /// On the engine's thread, while the run waits. Pieces are the engine's own memory; nothing is copied.
    OPSCOPE_DIRECT = 1,
} opscope_delivery_t;

/// What happens to a tensor when the queue is full.
typedef enum {
    /// The run waits. If the sink takes nothing for as long as `patience`, the subscription is given up.
    OPSCOPE_BLOCK = 0,
    /// A tensor that does not fit is not delivered. It is counted and named.
    OPSCOPE_DROP = 1,
    /// A tensor that does not fit waits in a file without a name, in `spill_directory`.
    OPSCOPE_SPILL = 2,
} opscope_full_queue_t;

/// The kind of an event. `docs/debug-protocol.md` describes them all.
typedef enum {
    /// A model is ready: breakpoints can be set on its operators.
    OPSCOPE_MODEL_LOADED = 0,
    /// A model was unloaded.
    OPSCOPE_MODEL_UNLOADED = 1,
    /// A run was prepared.
    OPSCOPE_RUN_CREATED = 2,
    /// The resources of a run were released.
    OPSCOPE_RUN_DESTROYED = 3,
    /// A run begins.
    OPSCOPE_RUN_PUSHED = 4,
    /// A run is over.
    OPSCOPE_RUN_POPPED = 5,
    /// An operator is about to be executed.
    OPSCOPE_OPERATOR_READY = 6,
    /// An operator was executed.
    OPSCOPE_OPERATOR_FINISHED = 7,
    /// A run is stopped at breakpoints.
    OPSCOPE_BREAKPOINT = 8,
    /// A run is stopped after a step.
    OPSCOPE_STEP_COMPLETE = 9,
    /// A run is stopped because the client paused it.
    OPSCOPE_PAUSED = 10,
    /// Something went wrong in a run.
    OPSCOPE_EXCEPTION = 11,
    /// The client has received all events that report what happened before it attached.
    OPSCOPE_ATTACH_COMPLETE = 12,
    /// The client is detached. This is its last event.
    OPSCOPE_DETACH_COMPLETE = 13,
    /// Threads have been waiting for an acknowledgement.
    OPSCOPE_TIMEOUT = 14,
    /// The debugger itself failed.
    OPSCOPE_INTERNAL_ERROR = 15,
} opscope_event_kind_t;

/// The queues in which events wait until they are read.
typedef enum {
    /// Events whose thread waits until they are acknowledged.
    OPSCOPE_SYNC = 0,
    /// Events at which no thread waits.
    OPSCOPE_ASYNC = 1,
} opscope_queue_t;

/// Before or after an operator.
typedef enum {
    /// In an event: at no operator. In a breakpoint: after the operator if the condition needs outputs, else before it.
    OPSCOPE_ANY_MOMENT = 0,
    /// Before the operator: its inputs exist.
    OPSCOPE_BEFORE = 1,
    /// After the operator: its outputs exist.
    OPSCOPE_AFTER = 2,
} opscope_moment_t;

/// The reason why the run of an event is stopped.
typedef enum {
    /// The run is not stopped. Its thread waits only for the acknowledgement, if at all.
    OPSCOPE_NOT_STOPPED = 0,
    /// The run is stopped by a breakpoint, a step or a pause.
    OPSCOPE_STOPPED_BY_REQUEST = 1,
    /// The run has failed. Its tensors are gone.
    OPSCOPE_STOPPED_BY_FAILURE = 2,
} opscope_stop_cause_t;

/// How a stopped run continues.
typedef enum {
    /// It continues until something stops it.
    OPSCOPE_RESUME_CONTINUE = 0,
    /// It continues to its next operator.
    OPSCOPE_RESUME_STEP = 1,
    /// It continues to the end of this operator; from there, to the end of the next one.
    OPSCOPE_RESUME_FINISH = 2,
    /// It continues to one of the operators in `text`, or to its end.
    OPSCOPE_RESUME_UNTIL = 3,
    /// It continues without executing the operator that it is stopped before; `outputs` replace the operator's.
    OPSCOPE_RESUME_SKIP = 4,
    /// It ends immediately: the run fails with `text` as its reason.
    OPSCOPE_RESUME_ABORT = 5,
} opscope_resume_action_t;

/// A list of tensors that opscope returned. Free it with `opscope_tensors_free`.
typedef struct {
    /// 0 is no list.
    uint64_t id;
} opscope_tensors_t;

/// A tensor: a type, a shape and data. The data is little-endian and row-major, without gaps.
///
/// A tensor that is passed to opscope is only read during the call. A tensor from opscope belongs to the object that it
/// came from.
typedef struct {
    /// `sizeof(opscope_tensor_t)`.
    size_t size;
    /// Its name in the model. Ignored in tensors that are passed to opscope.
    const char *name;
    /// The sizes of its dimensions. NULL for a single element, whose `rank` is 0.
    const size_t *dims;
    /// The elements.
    const void *data;
    /// The number of bytes of `data`.
    size_t bytes;
    /// The type of its elements, an `opscope_dtype_t`.
    uint32_t dtype;
    /// The number of its dimensions, at most 128.
    uint32_t rank;
} opscope_tensor_t;

/// How to load a model. All fields zero, or NULL in place of the struct, selects the default.
typedef struct {
    /// `sizeof(opscope_session_options_t)`.
    size_t size;
    /// An `opscope_fidelity_t`.
    uint32_t fidelity;
    /// Threads within one operator, at most 1024. 0 stands for 1.
    uint32_t threads;
    /// How much time and memory loading may take, as a multiple of the default for such a model. 0 stands for 1.
    uint32_t load_budget;
    /// 0.
    uint32_t reserved;
} opscope_session_options_t;

/// A loaded model that can run. Free it with `opscope_session_free`.
///
/// Several threads may use a session at once, also to run it.
typedef struct {
    /// 0 is no session.
    uint64_t id;
} opscope_session_t;

/// A model and its engine. All texts are valid until the session is freed.
typedef struct {
    /// `sizeof(opscope_session_info_t)`.
    size_t size;
    /// The graph's name in the file.
    const char *name;
    /// The file, as it was passed; "(memory)" for a model from memory.
    const char *path;
    /// The program that wrote the file, with its version; empty if the file does not say.
    const char *producer;
    /// XXH3 (64 bit) of the file's bytes.
    uint64_t xxh3;
    /// The engine's name.
    const char *engine;
    /// The engine's version.
    const char *engine_version;
    /// An `opscope_fidelity_t`.
    uint32_t fidelity;
    /// Threads within one operator.
    uint32_t threads;
    /// The number of operators.
    size_t operators;
    /// The number of inputs of a run.
    size_t inputs;
    /// The number of outputs of a run.
    size_t outputs;
} opscope_session_info_t;

/// An input or output of a model, as the file declares it. It is valid until the session is freed.
typedef struct {
    /// `sizeof(opscope_value_t)`.
    size_t size;
    /// Its name.
    const char *name;
    /// The sizes of its dimensions; -1 for a dimension that the file leaves open. NULL if `rank` is 0 or -1.
    const int64_t *dims;
    /// For each dimension its name in the file; NULL for a fixed size, or an open one without a name.
    const char *const *dim_names;
    /// The number of its dimensions; -1 if the file does not give a shape.
    int32_t rank;
    /// The type of its elements, an `opscope_dtype_t`; 0 if the file does not give it.
    uint32_t dtype;
} opscope_value_t;

/// An operator of a model. It is valid until the session is freed.
typedef struct {
    /// `sizeof(opscope_operator_t)`.
    size_t size;
    /// Its name in the file, made unique; `OpType_index` if the file has none.
    const char *name;
    /// Its type, such as "Conv".
    const char *op_type;
    /// The domain of its operator set; empty for ONNX's own.
    const char *domain;
    /// The names of its inputs by slot; NULL for an omitted input. NULL if there are none.
    const char *const *inputs;
    /// The names of its outputs by slot; NULL for an omitted output. NULL if there are none.
    const char *const *outputs;
    /// The number of inputs.
    uint32_t input_count;
    /// The number of outputs.
    uint32_t output_count;
    /// Its id: its position in the order of execution, from 0.
    uint32_t id;
    /// 0.
    uint32_t reserved;
} opscope_operator_t;

/// The instrument that stops runs. It costs nothing while no client is attached. Free it with `opscope_debugger_free`.
typedef struct {
    /// 0 is no debugger.
    uint64_t id;
} opscope_debugger_t;

/// The instrument that captures tensors and delivers them to sinks. Free it with `opscope_dumper_free`.
typedef struct {
    /// 0 is no dumper.
    uint64_t id;
} opscope_dumper_t;

/// The instrument that makes a recording: what ran and when, in a directory. End it with `opscope_profiler_finish`.
typedef struct {
    /// 0 is no profiler.
    uint64_t id;
} opscope_profiler_t;

/// The instruments of a run; 0 for those that it does not have. They are called in this order: if the debugger replaces
/// a value, the dumper receives the new one.
typedef struct {
    /// `sizeof(opscope_instruments_t)`.
    size_t size;
    /// Stops runs and looks at them.
    opscope_debugger_t debugger;
    /// Captures tensors. With an exact session it sees those of every operator; with an optimised one, those of its
    /// kernels.
    opscope_dumper_t dumper;
    /// Records what ran and when.
    opscope_profiler_t profiler;
} opscope_instruments_t;

/// A kernel of a plan that records refer to. Its texts are valid until the same thread's next query.
typedef struct {
    /// `sizeof(opscope_kernel_t)`.
    size_t size;
    /// The name in the file of the operator that the kernel's time counts for. Empty for a kernel that the engine added
    /// on its own.
    const char *operator_name;
    /// That operator's type, such as "Conv". Empty for a kernel that the engine added on its own.
    const char *operator_type;
    /// The engine's name for the kernel.
    const char *name;
    /// The name of the engine's operator.
    const char *op;
    /// The names of the other operators that it stands for, separated by ", "; empty if there are none.
    const char *fused;
    /// The model's file, as it was passed.
    const char *model;
    /// The number of the other operators that it stands for.
    uint32_t fused_count;
    /// 1 if the engine itself says that it is this operator; 0 if that was inferred from the graph.
    uint32_t exact;
} opscope_kernel_t;

/// A thread that calls the callbacks of buffers. Buffers without their own thread share one. Free it with
/// `opscope_callback_thread_free`; it ends with the last buffer that uses it.
typedef struct {
    /// 0 is the shared thread.
    uint64_t id;
} opscope_callback_thread_t;

/// The options of a buffer. All fields zero, or NULL in place of the struct, selects the default.
typedef struct {
    /// `sizeof(opscope_buffer_options_t)`.
    size_t size;
    /// The payload bytes that it holds. 0 stands for 8 MiB.
    uint64_t bytes;
    /// The payload bytes after which a callback becomes due; 1 makes every record due. 0 stands for an eighth of
    /// `bytes`.
    uint64_t watermark;
    /// The nanoseconds after which records below the watermark are also delivered. 0: they wait.
    uint64_t interval;
    /// A file that holds the records, so that they survive the process: `opscope recover` reads it. It must not exist
    /// yet. NULL selects memory.
    const char *file;
    /// The thread that calls the callback. 0: the shared one.
    opscope_callback_thread_t thread;
    /// An `opscope_policy_t`.
    uint32_t policy;
    /// 0.
    uint32_t reserved;
} opscope_buffer_options_t;

/// A buffer, in which records wait for their callback. Destroy it with `opscope_buffer_destroy`.
typedef struct {
    /// 0 is no buffer.
    uint64_t id;
} opscope_buffer_t;

/// The records that one callback receives. It is valid until the callback returns, on the thread of the callback.
typedef struct {
    /// `sizeof(opscope_batch_t)` in the library.
    size_t size;
    /// The buffer.
    opscope_buffer_t buffer;
    /// The number of records: at least 1.
    uint64_t records;
    /// The payload bytes of all records, each rounded up to 8.
    uint64_t bytes;
    /// The number of records that the buffer delivered before these.
    uint64_t first;
    /// The number of records that the buffer has dropped since it was created.
    uint64_t dropped;
} opscope_batch_t;

/// Called with the records of a buffer, on its callback thread. It must not throw. It may emit records, even into the
/// buffer that it serves.
typedef void (*opscope_batch_callback_t)(const opscope_batch_t *batch, void *user);

/// A record in the buffer.
typedef struct {
    /// `sizeof(opscope_record_t)`.
    size_t size;
    /// The payload: for opscope's own kinds a struct such as `opscope_dispatch_record_t`. It is aligned to 8 bytes, and
    /// valid until the callback returns.
    const void *payload;
    /// The bytes of the payload.
    uint32_t length;
    /// The kind; in the category `OPSCOPE_CATEGORY` an `opscope_kind_t`.
    uint16_t kind;
    /// The category.
    uint8_t category;
    /// 0.
    uint8_t reserved;
} opscope_record_t;

/// What a buffer has done so far: `emitted == delivered + dropped + waiting`.
typedef struct {
    /// `sizeof(opscope_buffer_statistics_t)`.
    size_t size;
    /// Records that were emitted.
    uint64_t emitted;
    /// Records that callbacks have received.
    uint64_t delivered;
    /// Records that were dropped.
    uint64_t dropped;
    /// Records that are waiting.
    uint64_t waiting;
    /// Payload bytes that were emitted. In the statistics of one kind, this field and those below are 0.
    uint64_t bytes;
    /// Calls of the callback.
    uint64_t callbacks;
    /// How often a thread had to wait for space.
    uint64_t stalls;
    /// The longest of these waits, in nanoseconds.
    uint64_t longest_stall;
} opscope_buffer_statistics_t;

/// The switch for a set of tracing services: a service traces one kind of records into one buffer while the context is
/// started. Destroy it with `opscope_context_destroy`.
typedef struct {
    /// 0 is no context.
    uint64_t id;
} opscope_context_t;

/// The ids of the work that a record belongs to; 0 stands for none.
typedef struct {
    /// opscope's number.
    uint64_t internal;
    /// The program's number, set by `opscope_push_external`.
    uint64_t external;
} opscope_correlation_t;

/// The result of a dumper. Free it with `opscope_dump_report_free`.
typedef struct {
    /// 0 is no report.
    uint64_t id;
} opscope_dump_report_t;

/// The counts of a report.
typedef struct {
    /// `sizeof(opscope_dump_counts_t)`.
    size_t size;
    /// Tensors that sinks accepted.
    uint64_t tensors;
    /// Their bytes.
    uint64_t bytes;
    /// Tensors that were selected but not delivered.
    uint64_t missing;
    /// How many of those have a name in the report: the first 100,000 of each sink.
    uint64_t named;
    /// Other problems: sinks that failed, runs that failed.
    uint64_t errors;
    /// 1 if everything that was selected was delivered, else 0.
    uint32_t complete;
    /// 0.
    uint32_t reserved;
} opscope_dump_counts_t;

/// An iteration of a body that a kernel was executed in.
typedef struct {
    /// The id of the operator that has the body.
    uint32_t operator_id;
    /// The iteration, from 0; always 0 for an `If`.
    uint32_t iteration;
} opscope_path_level_t;

/// A tensor on its way to a sink: what is known before its first piece. It is valid until the callback returns.
typedef struct {
    /// `sizeof(opscope_stream_t)` in the library.
    size_t size;
    /// The number of the run, which each session counts from 0, or `OPSCOPE_NO_RUN`.
    uint64_t run;
    /// The operator's name in the file.
    const char *operator_name;
    /// The operator's type.
    const char *operator_type;
    /// The name of the value in the file.
    const char *value;
    /// The sizes of its dimensions. NULL if `rank` is 0.
    const size_t *dims;
    /// The bytes of all pieces in total.
    uint64_t bytes;
    /// The number of its dimensions.
    uint32_t rank;
    /// The type of its elements, an `opscope_dtype_t`.
    uint32_t dtype;
    /// The operator's id: its position in the order of execution.
    uint32_t operator_id;
    /// An `opscope_io_t`.
    uint32_t io;
    /// The operator's input or output slot.
    uint32_t slot;
    /// How many tensors of this operator were selected in this run, and in this iteration of a body, including this
    /// one.
    uint32_t siblings;
    /// For an operator in the body of an `If`, `Loop` or `Scan`: the iterations that it was executed in, outermost
    /// first. NULL if `path_length` is 0.
    const opscope_path_level_t *path;
    /// The number of `path`.
    size_t path_length;
} opscope_stream_t;

/// Which tensors are captured, and how they are delivered. All fields zero, or NULL in place of the struct, selects
/// every output of every operator of every run. A pattern is a name, a glob with `*`, `?` or `[`, or a regular
/// expression after "re:".
typedef struct {
    /// `sizeof(opscope_dump_request_t)`.
    size_t size;
    /// Patterns of operators' names. Without any, all are captured.
    const char *const *operators;
    /// The number of `operators`.
    size_t operator_count;
    /// Patterns of operators' types. Without any, all are captured.
    const char *const *types;
    /// The number of `types`.
    size_t type_count;
    /// The runs, such as "0|5-10|20". NULL for all.
    const char *runs;
    /// How many tensors are captured at most. 0: no limit.
    uint64_t first;
    /// How many bytes are captured at most. A tensor that does not fit any more is missing. 0: no limit.
    uint64_t byte_budget;
    /// The model that runs. If it is given, a name that the model does not have is an error. May be 0.
    opscope_session_t session;
    /// The largest size of a piece in bytes. 0 stands for 16 MiB.
    size_t piece_size;
    /// How many bytes may wait in the queue. 0 stands for 224 MiB.
    size_t queue_size;
    /// Nanoseconds that a run waits for the sink, with `OPSCOPE_BLOCK`. 0 stands for a minute.
    uint64_t patience;
    /// The directory for `OPSCOPE_SPILL`. NULL for the system's directory for temporary files.
    const char *spill_directory;
    /// An `opscope_io_selection_t`.
    uint32_t io;
    /// An `opscope_delivery_t`.
    uint32_t delivery;
    /// An `opscope_full_queue_t`.
    uint32_t when_full;
    /// 1 to capture only tensors with a NaN or an infinite element.
    uint32_t only_non_finite;
    /// 1 if a sink that stops also stops the run.
    uint32_t stops_run;
    /// 0.
    uint32_t reserved;
} opscope_dump_request_t;

/// A slice of a tensor: whole elements, little-endian and row-major. It is valid until the callback returns.
typedef struct {
    /// `sizeof(opscope_piece_t)` in the library.
    size_t size;
    /// Its offset in the tensor, in bytes.
    uint64_t offset;
    /// The data.
    const void *data;
    /// The number of bytes of `data`. It is 0 only for a tensor without elements.
    size_t bytes;
    /// 1 for the last piece of the tensor, else 0.
    uint32_t last;
    /// 0.
    uint32_t reserved;
} opscope_piece_t;

/// A sink: functions that are called with tensors. They are never called by two threads at once, and one tensor ends
/// before the next begins. They must not throw. Functions that are NULL are not called; `piece` is required.
typedef struct {
    /// `sizeof(opscope_sink_t)`.
    size_t size;
    /// Called when a tensor begins. Returns an `opscope_answer_t`.
    int32_t (*begin)(const opscope_stream_t *stream, void *user);
    /// Called with the tensor's next piece. Returns an `opscope_answer_t`.
    int32_t (*piece)(const opscope_stream_t *stream, const opscope_piece_t *piece, void *user);
    /// Called if the tensor ends without its last piece, with the reason.
    void (*broken)(const opscope_stream_t *stream, const char *reason, void *user);
    /// Called when a run has ended and all its tensors were delivered. Returns an `opscope_answer_t`.
    int32_t (*run_ended)(uint64_t run, void *user);
    /// Called at the end. No function of the sink is called afterwards.
    void (*closed)(void *user);
    /// Passed to the functions.
    void *user;
} opscope_sink_t;

/// A sink of a dumper. End it with `opscope_dumper_unsubscribe` or `opscope_dumper_finish`.
typedef struct {
    /// 0 is no subscription.
    uint64_t id;
} opscope_subscription_t;

/// What a profiler records. All fields zero, or NULL in place of the struct, selects the default.
typedef struct {
    /// `sizeof(opscope_profiler_options_t)`.
    size_t size;
    /// Switches with their settings, separated by commas, such as "task-memory=on,sys-hardware-mem=off". They are those
    /// of `opscope benchmark`. NULL for the default.
    const char *switches;
    /// Nanoseconds between two samples of the counters. 0 stands for 100 ms.
    uint64_t sample_interval;
    /// Payload bytes that may wait in memory. 0 stands for 8 MiB.
    uint64_t buffer_size;
} opscope_profiler_options_t;

/// A thread that serves debuggers in other processes. Free it with `opscope_server_free`.
typedef struct {
    /// 0 is no server.
    uint64_t id;
} opscope_server_t;

/// The options for attaching a client. All fields zero, or NULL in place of the struct, selects the default.
typedef struct {
    /// `sizeof(opscope_attach_options_t)`.
    size_t size;
    /// The client's name, for messages. May be NULL.
    const char *name;
    /// The events that it receives, each an `opscope_event_kind_t`. Breakpoints, steps, pauses and the ends of
    /// attaching and detaching are always included. Without any, all events that are useful to a person are selected:
    /// not the beginning and end of runs and operators.
    const uint32_t *events;
    /// The number of `events`.
    size_t event_count;
    /// Nanoseconds for which an event may stay unacknowledged before its thread continues without it. 0 stands for 30
    /// s.
    uint64_t lease;
    /// Nanoseconds between two timeout events while a thread waits. 0: there are none.
    uint64_t timeout;
    /// How many events can wait in the async queue. 0 stands for 16,384.
    size_t async_capacity;
    /// 1 if every call inside the notification callback returns `OPSCOPE_ERROR_BUSY`, including those that read and
    /// acknowledge.
    uint32_t strict_callbacks;
    /// 1 if the events of finished operators have statistics of their outputs, in `json`.
    uint32_t statistics;
} opscope_attach_options_t;

/// A client that is attached to a debugger in its own process. Detach it with `opscope_attachment_free`: threads that
/// wait then continue.
///
/// Inside the notification callback, only calls that read and acknowledge events are allowed; the others return
/// `OPSCOPE_ERROR_BUSY`.
typedef struct {
    /// 0 is no attachment.
    uint64_t id;
} opscope_attachment_t;

/// One event. Its texts are valid until the same thread reads the next event.
typedef struct {
    /// `sizeof(opscope_event_t)`.
    size_t size;
    /// Its number, from 1, across both queues: an event with a lower number happened earlier.
    uint64_t sequence;
    /// When it was raised, in nanoseconds of CLOCK_BOOTTIME.
    uint64_t timestamp;
    /// The run, or `OPSCOPE_NO_RUN`.
    uint64_t run;
    /// How many later events of the same kind were coalesced into this one because the queue was not read.
    uint64_t coalesced;
    /// What happened, in one line for people.
    const char *text;
    /// The whole event, as a JSON object that `docs/debug-protocol.md` describes.
    const char *json;
    /// The name of the operator that the run has reached; NULL if there is none.
    const char *operator_name;
    /// The type of that operator; NULL if there is none.
    const char *operator_type;
    /// The breakpoints that were hit.
    const uint32_t *breakpoints;
    /// The number of `breakpoints`.
    size_t breakpoint_count;
    /// An `opscope_event_kind_t`.
    uint32_t kind;
    /// An `opscope_queue_t`.
    uint32_t queue;
    /// An `opscope_moment_t`: whether the run is before or after that operator.
    uint32_t moment;
    /// The id of that operator; 0 if there is none.
    uint32_t operator_id;
    /// The system's number of the thread that raised it; 0 if it was not a thread of the program.
    uint32_t thread;
    /// 1 if that thread was waiting for the acknowledgement when the event was read, else 0.
    uint32_t waiting;
    /// 1 if the event happened before the client attached, else 0.
    uint32_t replayed;
    /// An `opscope_stop_cause_t`.
    uint32_t stop;
} opscope_event_t;

/// How a stopped run continues. It continues with the tensors that were replaced while it was stopped.
typedef struct {
    /// `sizeof(opscope_resume_t)`.
    size_t size;
    /// The target of `OPSCOPE_RESUME_UNTIL`, the reason of `OPSCOPE_RESUME_ABORT`.
    const char *text;
    /// The outputs of `OPSCOPE_RESUME_SKIP`, one for each slot.
    const opscope_tensor_t *outputs;
    /// The number of `outputs`.
    size_t output_count;
    /// An `opscope_resume_action_t`.
    uint32_t action;
    /// 0.
    uint32_t reserved;
} opscope_resume_t;

/// Called when events have arrived; one call may stand for several. It is always called on the same thread, and must
/// not throw.
typedef void (*opscope_notification_callback_t)(void *user);

/// A breakpoint.
typedef struct {
    /// `sizeof(opscope_breakpoint_t)`.
    size_t size;
    /// The operators at which it stops: a name, "type:Conv", "#3" for the operator with that id, a glob such as
    /// "/layer1/*", or "first nan", "first inf", "first nonfinite".
    const char *target;
    /// The condition on the tensors there, such as "absmax(output) > 100"; `docs/debug.md` describes the language.
    /// NULL: it always stops.
    const char *condition;
    /// The number of the only run that it stops. NULL: it stops all.
    const uint64_t *run;
    /// How many more hits do not stop the run.
    uint64_t ignore;
    /// An `opscope_moment_t`.
    uint32_t moment;
    /// 1 if it stops nothing until it is enabled.
    uint32_t disabled;
    /// 1 if it is removed after the first stop.
    uint32_t one_shot;
    /// 0.
    uint32_t reserved;
} opscope_breakpoint_t;

/// A change of a breakpoint. Fields that are NULL stay unchanged.
typedef struct {
    /// `sizeof(opscope_breakpoint_change_t)`.
    size_t size;
    /// The condition; an empty text removes it.
    const char *condition;
    /// How many more hits do not stop the run.
    const uint64_t *ignore;
    /// 1 if it stops nothing, 0 if it stops runs.
    const uint32_t *disabled;
    /// 1 if it is removed after the next stop, 0 if it stays.
    const uint32_t *one_shot;
} opscope_breakpoint_change_t;

/// The state of a breakpoint.
typedef struct {
    /// `sizeof(opscope_breakpoint_info_t)`.
    size_t size;
    /// How often a run reached it while the condition held, including ignored hits.
    uint64_t hits;
    /// How many more hits do not stop the run.
    uint64_t ignore;
    /// The number of operators at which it stops, in the loaded models.
    size_t locations;
    /// `OPSCOPE_BEFORE` or `OPSCOPE_AFTER`.
    uint32_t moment;
    /// 1 if it stops nothing, else 0.
    uint32_t disabled;
    /// 1 if it is removed after the next stop, else 0.
    uint32_t one_shot;
    /// 1 if the last attempt to evaluate the condition failed: then it did not hold. `opscope_attachment_status` says
    /// why.
    uint32_t condition_failed;
} opscope_breakpoint_info_t;

/// Called with a tensor of a stopped run, on the thread of that run. The tensor is the engine's own memory, and valid
/// until the callback returns. The callback must not throw, and must not itself look at stopped runs.
typedef void (*opscope_look_callback_t)(const opscope_tensor_t *tensor, void *user);

/// One execution of one kernel. `opscope_kernel` returns the kernel's names.
///
/// A kernel in the body of an `If`, `Loop` or `Scan` has a path: for each body around it, outermost first, an
/// `opscope_path_level_t` follows the struct, up to the length of the record.
typedef struct {
    /// The number of the run, which each session counts from 0.
    uint64_t run;
    /// The plan that ran.
    uint64_t plan;
    /// When the kernel began, in ticks.
    uint64_t start;
    /// When the kernel ended, in ticks.
    uint64_t end;
    /// The work that it belongs to.
    opscope_correlation_t correlation;
    /// The kernel, by its position in the plan.
    uint32_t kernel;
    /// 0: complete.
    uint32_t operation;
    /// The system's number of the thread that started the kernel.
    uint32_t thread;
    /// The device that executed the kernel: 0 for the host.
    uint32_t device;
} opscope_dispatch_record_t;

/// One run.
typedef struct {
    /// The number of the run, which each session counts from 0.
    uint64_t run;
    /// The plan that ran.
    uint64_t plan;
    /// When the copy of the inputs began, in ticks.
    uint64_t upload_start;
    /// When the copy of the inputs ended, in ticks.
    uint64_t upload_end;
    /// When the engine began, in ticks.
    uint64_t start;
    /// When the engine ended, in ticks.
    uint64_t end;
    /// When the copy of the outputs began, in ticks; 0 if the run failed before.
    uint64_t download_start;
    /// When the copy of the outputs ended, in ticks; 0 if the run failed before.
    uint64_t download_end;
    /// The work that it belongs to.
    opscope_correlation_t correlation;
    /// 0: warm_up, 1: measured, 2: untimed, which is a run without times for its dispatches.
    uint32_t operation;
    /// The system's number of the thread.
    uint32_t thread;
    /// 1 if the run failed.
    uint32_t failed;
    /// 0.
    uint32_t reserved;
} opscope_run_record_t;

/// A copy of the inputs into the engine's memory, or of the outputs out of it.
typedef struct {
    /// The number of the run.
    uint64_t run;
    /// When it began, in ticks.
    uint64_t start;
    /// When it ended, in ticks.
    uint64_t end;
    /// The bytes of all tensors in total.
    uint64_t bytes;
    /// The work that it belongs to.
    opscope_correlation_t correlation;
    /// The number of tensors.
    uint32_t tensors;
    /// 0: host_to_host, 1: host_to_device, 2: device_to_host, 3: device_to_device.
    uint32_t operation;
    /// The system's number of the thread.
    uint32_t thread;
    /// The memory that was read: 0 is the host's, 1 the engine's.
    uint32_t source;
    /// The memory that was written.
    uint32_t destination;
    /// 0.
    uint32_t reserved;
} opscope_copy_record_t;

/// Memory that the engine begins or ceases to hold for a tensor.
typedef struct {
    /// When it began, in ticks.
    uint64_t start;
    /// When it ended, in ticks.
    uint64_t end;
    /// The address.
    uint64_t address;
    /// The number of bytes.
    uint64_t bytes;
    /// The work that it belongs to.
    opscope_correlation_t correlation;
    /// 0: allocate, 1: free.
    uint32_t operation;
    /// The system's number of the thread.
    uint32_t thread;
    /// The memory: 1 is the engine's.
    uint32_t memory;
    /// 0.
    uint32_t reserved;
} opscope_allocation_record_t;

/// A mark or range of the program. `opscope_name` returns the text of the name.
typedef struct {
    /// When it began, in ticks.
    uint64_t start;
    /// When it ended, in ticks; the same as `start` for a mark.
    uint64_t end;
    /// The work that it belongs to.
    opscope_correlation_t correlation;
    /// The number of its name.
    uint32_t name;
    /// 0: mark, 1: range, 2: open_range, which was open when tracing ended.
    uint32_t operation;
    /// The system's number of the thread.
    uint32_t thread;
    /// The number of ranges around it.
    uint32_t depth;
} opscope_marker_record_t;

/// The value of a counter. `opscope_name` returns the text of the name.
typedef struct {
    /// When it was sampled, in ticks.
    uint64_t time;
    /// The value.
    double value;
    /// The work that it belongs to.
    opscope_correlation_t correlation;
    /// The number of its name.
    uint32_t name;
    /// 0: sample.
    uint32_t operation;
    /// The system's number of the thread.
    uint32_t thread;
    /// 0.
    uint32_t reserved;
} opscope_counter_record_t;

/// A call of the engine.
typedef struct {
    /// The number of the run; also 0 for a load and a plan.
    uint64_t run;
    /// 0.
    uint64_t unused;
    /// When it began, in ticks.
    uint64_t start;
    /// When it ended, in ticks.
    uint64_t end;
    /// The work that it belongs to.
    opscope_correlation_t correlation;
    /// 0: load, 1: plan, 2: upload, 3: run, 4: download, 5: profile, which is the engine's work on its own profile.
    uint32_t operation;
    /// The system's number of the thread.
    uint32_t thread;
    /// 1 if it failed.
    uint32_t failed;
    /// 0.
    uint32_t reserved;
} opscope_engine_call_record_t;

/// The end of an internal correlation id: the last record with it was emitted.
typedef struct {
    /// The time of that, in ticks.
    uint64_t time;
    /// The internal correlation id.
    uint64_t internal;
} opscope_retirement_record_t;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/// Returns the version of the library, in the form of `OPSCOPE_VERSION`.
uint32_t opscope_version(void);

/// Returns the version of the library as a static text, such as "0.1.0".
const char *opscope_version_text(void);

/// Returns the meaning of a status in a few words; "unknown status" for any other number. The text is static.
const char *opscope_status_text(int32_t status);

/// Returns what was wrong with this thread's last call that failed, and what would be right; an empty text before the
/// first failure. The text is valid until this thread's next failing call.
const char *opscope_error_text(void);

/// Returns the name of a type, such as "float32"; NULL for any other number. The text is static.
const char *opscope_dtype_name(uint32_t dtype);

/// Returns the number of tensors in a list; 0 for an invalid handle.
size_t opscope_tensors_count(opscope_tensors_t tensors);

/// Writes one tensor of a list to `tensor`, whose `size` must be set. It is valid until the list is freed.
opscope_status_t opscope_tensors_get(opscope_tensors_t tensors, size_t index, opscope_tensor_t *tensor);

/// Frees a list of tensors, and the tensors in it.
opscope_status_t opscope_tensors_free(opscope_tensors_t tensors);

/// Reads an `.onnx` file and loads it into the embedded engine.
opscope_status_t opscope_session_load(const char *path,
                                      const opscope_session_options_t *options,
                                      opscope_session_t *session);

/// Loads a model from memory, which is copied. External data is not found, because there is no file that it could be
/// beside.
opscope_status_t opscope_session_load_memory(const void *bytes,
                                             size_t length,
                                             const opscope_session_options_t *options,
                                             opscope_session_t *session);

/// Frees a session. Calls in progress continue, and the memory is released after them.
opscope_status_t opscope_session_free(opscope_session_t session);

/// Writes what is known about a model and its engine to `info`, whose `size` must be set.
opscope_status_t opscope_session_info(opscope_session_t session, opscope_session_info_t *info);

/// Writes what the file declares about an input to `value`, whose `size` must be set.
opscope_status_t opscope_session_input(opscope_session_t session, size_t index, opscope_value_t *value);

/// Writes what the file declares about an output to `value`, whose `size` must be set.
opscope_status_t opscope_session_output(opscope_session_t session, size_t index, opscope_value_t *value);

/// Writes an operator of the model to `value`, whose `size` must be set. Operators come in the order of execution.
opscope_status_t opscope_session_operator(opscope_session_t session, size_t index, opscope_operator_t *value);

/// Runs the model once, on the calling thread. `inputs` are in the order of the model's inputs. `instruments` may be
/// NULL. If `outputs` is not NULL, the outputs are copied into a new list, which the caller frees. A run that a
/// debugger stops waits for its client, so the client must read events on another thread.
opscope_status_t opscope_session_run(opscope_session_t session,
                                     const opscope_tensor_t *inputs,
                                     size_t input_count,
                                     const opscope_instruments_t *instruments,
                                     opscope_tensors_t *outputs);

/// Searches for consumers, libraries that receive reports of what this program runs, and attaches those that are not
/// attached yet: loaded libraries that export `opscope_attach_producer` (`opscope_producer.h`), and libraries with
/// known names in the directory in `OPSCOPE_LIB_DIR` and beside libopscope.so. The first session that is loaded does
/// the same.
///
/// Writes to `attached` how many were attached by this call, and to `skipped` a text with one line for each library
/// that was not, and why; NULL if there is none. Both may be NULL. The text is valid until the same thread calls this
/// again.
opscope_status_t opscope_attach_consumers(size_t *attached, const char **skipped);

/// Returns the name of a kind, such as "operator_dispatch"; NULL for any other number. The text is static.
const char *opscope_kind_name(uint16_t kind);

/// Returns the name of an operation of a kind, such as "host_to_device"; NULL for any other number. The text is static.
const char *opscope_operation_name(uint16_t kind, uint32_t operation);

/// Returns 1 if a started context traces this kind, else 0. It costs a load and a branch.
int32_t opscope_kind_wanted(uint16_t kind);

/// Writes the names of a kernel to `kernel`, whose `size` must be set. `plan` and `index` are those in an
/// `opscope_dispatch_record_t`. The names of freed plans are kept for a while, so that a callback still finds them.
opscope_status_t opscope_kernel(uint64_t plan, uint32_t index, opscope_kernel_t *kernel);

/// Creates a callback thread with this name.
opscope_status_t opscope_callback_thread_create(const char *name, opscope_callback_thread_t *thread);

/// Frees a callback thread. Buffers that use it keep it.
opscope_status_t opscope_callback_thread_free(opscope_callback_thread_t thread);

/// Creates a buffer. `callback` is called with its records, by one thread at a time.
opscope_status_t opscope_buffer_create(const opscope_buffer_options_t *options,
                                       opscope_batch_callback_t callback,
                                       void *user,
                                       opscope_buffer_t *buffer);

/// Emits a record of any category and kind: copies `length` bytes from `payload`. A record has at least 1 byte, and at
/// most a sixteenth of the buffer, but no less than 512 and no more than 31,744 bytes.
///
/// A signal handler may call this. If it interrupts another call of this library on its thread, the record may be
/// dropped: it is counted, and the call returns `OPSCOPE_ERROR_BUSY`. It never waits for the interrupted call. Only a
/// thread's first record in a buffer uses the heap, so let each thread emit one before its handlers do. A full buffer
/// with `OPSCOPE_LOSSLESS` waits for its callback, which then must not need anything that the interrupted code holds.
opscope_status_t opscope_buffer_emit(opscope_buffer_t buffer,
                                     uint8_t category,
                                     uint16_t kind,
                                     const void *payload,
                                     size_t length);

/// Delivers every record that any thread has emitted before this call, and then returns. Inside the buffer's callback
/// it returns `OPSCOPE_ERROR_BUSY`.
opscope_status_t opscope_buffer_flush(opscope_buffer_t buffer);

/// Does the same as `opscope_buffer_flush`, but waits for at most this many nanoseconds, and then returns
/// `OPSCOPE_ERROR_TIMED_OUT`. The delivery continues.
opscope_status_t opscope_buffer_flush_within(opscope_buffer_t buffer, uint64_t nanoseconds);

/// Moves a buffer to another callback thread, from the next batch on.
opscope_status_t opscope_buffer_assign(opscope_buffer_t buffer, opscope_callback_thread_t thread);

/// Destroys a buffer, and returns once everything in it is delivered. Inside its callback it returns immediately, and
/// the rest is delivered after that callback. The callback is not called afterwards.
opscope_status_t opscope_buffer_destroy(opscope_buffer_t buffer);

/// Writes the next record of a batch to `record`, whose `size` must be set. Returns `OPSCOPE_EMPTY` after the last one.
/// The records of each thread come in the order in which it emitted them.
opscope_status_t opscope_batch_next(const opscope_batch_t *batch, opscope_record_t *record);

/// Converts the ticks of a record into nanoseconds of CLOCK_BOOTTIME. Returns 0 outside the batch's callback.
uint64_t opscope_batch_nanoseconds(const opscope_batch_t *batch, uint64_t ticks);

/// Writes what a buffer has done so far to `statistics`, whose `size` must be set.
opscope_status_t opscope_buffer_statistics(opscope_buffer_t buffer, opscope_buffer_statistics_t *statistics);

/// Writes what a buffer has done with the records of one kind to `statistics`, whose `size` must be set.
opscope_status_t opscope_buffer_kind_statistics(opscope_buffer_t buffer,
                                                uint8_t category,
                                                uint16_t kind,
                                                opscope_buffer_statistics_t *statistics);

/// Creates a context without services. It is not started yet.
opscope_status_t opscope_context_create(opscope_context_t *context);

/// Adds a service: records of a kind, an `opscope_kind_t`, go into a buffer. `operations` are those that are traced; a
/// `count` of 0 selects all. A buffer serves one context, and a context traces a kind into one buffer.
opscope_status_t opscope_context_configure(opscope_context_t context,
                                           uint16_t kind,
                                           const uint32_t *operations,
                                           size_t count,
                                           opscope_buffer_t buffer);

/// Starts tracing. Does nothing if the context is started already.
opscope_status_t opscope_context_start(opscope_context_t context);

/// Stops tracing. When this returns, every emitted record is in its buffer, and none will follow.
opscope_status_t opscope_context_stop(opscope_context_t context);

/// Stops a context and removes its services. Their buffers stay.
opscope_status_t opscope_context_destroy(opscope_context_t context);

/// Begins a named range on the calling thread. The ranges of a thread are nested.
///
/// A signal handler may call this with a name that was used before, and must then end the range before it returns. If
/// it interrupts another call of this library on its thread, the range is dropped: it is counted, and the push and its
/// pop return `OPSCOPE_ERROR_BUSY`.
opscope_status_t opscope_range_push(const char *name);

/// Does the same as `opscope_range_push`, by the number of a name. The name is not looked up, so the number is not
/// checked.
opscope_status_t opscope_range_push_named(uint32_t name);

/// Ends the innermost range of the calling thread. A signal handler may end a range that it began.
opscope_status_t opscope_range_pop(void);

/// Marks this point in time.
///
/// A signal handler may call this with a name that was used before. If it interrupts another call of this library on
/// its thread, the mark is dropped: it is counted, and the call returns `OPSCOPE_ERROR_BUSY`.
opscope_status_t opscope_mark(const char *name);

/// Does the same as `opscope_mark`, by the number of a name. In a signal handler, the mark is dropped more rarely.
opscope_status_t opscope_mark_named(uint32_t name);

/// Records the value of a counter, by the number of its name. A signal handler may call this, like
/// `opscope_mark_named`.
opscope_status_t opscope_counter(uint32_t name, double value);

/// Writes the number of a name to `number`: a new one at the first call, and the same one at every later call. Names
/// are kept until the process ends.
opscope_status_t opscope_intern(const char *name, uint32_t *number);

/// Returns the text for a name's number; NULL for any other number. The text is kept until the process ends.
const char *opscope_name(uint32_t number);

/// Pushes an id of the program onto the calling thread's stack. Records carry the topmost id.
opscope_status_t opscope_push_external(uint64_t external);

/// Pops the topmost id from the calling thread's stack, and writes it to `external` unless that is NULL.
opscope_status_t opscope_pop_external(uint64_t *external);

/// Writes to `correlation` the ids of the work that the calling thread is doing.
opscope_status_t opscope_correlation(opscope_correlation_t *correlation);

/// Returns a reading of the clock in ticks, as in records.
uint64_t opscope_ticks(void);

/// Returns the time in nanoseconds of CLOCK_BOOTTIME.
uint64_t opscope_timestamp(void);

/// Writes the counts of a report to `counts`, whose `size` must be set.
opscope_status_t opscope_dump_report_counts(opscope_dump_report_t report, opscope_dump_counts_t *counts);

/// Writes a tensor that was not delivered to `tensor`, whose `size` must be set, and the reason to `reason`. Its type
/// and shape are unknown. Both are valid until the report is freed.
opscope_status_t opscope_dump_report_missing(opscope_dump_report_t report,
                                             size_t index,
                                             opscope_stream_t *tensor,
                                             const char **reason);

/// Returns one of the other problems; NULL if there is no such one. The text is valid until the report is freed.
const char *opscope_dump_report_error(opscope_dump_report_t report, size_t index);

/// Frees a report.
opscope_status_t opscope_dump_report_free(opscope_dump_report_t report);

/// Creates a dumper without sinks.
opscope_status_t opscope_dumper_create(opscope_dumper_t *dumper);

/// Adds a sink that calls back. It receives nothing from runs that have already begun. `subscription` may be NULL.
opscope_status_t opscope_dumper_subscribe(opscope_dumper_t dumper,
                                          const opscope_dump_request_t *request,
                                          const opscope_sink_t *sink,
                                          opscope_subscription_t *subscription);

/// Adds a sink that writes files into a new directory. `format` is "npy" (the default for NULL), "ascend" or
/// "statistics". `subscription` may be NULL.
opscope_status_t opscope_dumper_subscribe_directory(opscope_dumper_t dumper,
                                                    const opscope_dump_request_t *request,
                                                    opscope_session_t session,
                                                    const char *directory,
                                                    const char *format,
                                                    opscope_subscription_t *subscription);

/// Ends a sink: waits for the call in progress, delivers what is queued, and closes the sink, which is not called
/// afterwards. If `report` is not NULL, writes a report to it, which the caller frees. Returns
/// `OPSCOPE_ERROR_INCOMPLETE` if something is missing, and `OPSCOPE_ERROR_BUSY` inside the sink.
opscope_status_t opscope_dumper_unsubscribe(opscope_subscription_t subscription, opscope_dump_report_t *report);

/// Ends all sinks of a dumper, as `opscope_dumper_unsubscribe` ends one.
opscope_status_t opscope_dumper_finish(opscope_dumper_t dumper, opscope_dump_report_t *report);

/// Frees a dumper, and ends its sinks.
opscope_status_t opscope_dumper_free(opscope_dumper_t dumper);

/// Creates the directory of a recording, which must not exist yet. Begins to record the runs of this session that have
/// the profiler as an instrument, and the program's marks. Until it is finished, the recording says that it is
/// incomplete.
opscope_status_t opscope_profiler_create(opscope_session_t session,
                                         const char *directory,
                                         const opscope_profiler_options_t *options,
                                         opscope_profiler_t *profiler);

/// Writes what is still in memory, and closes the recording. Returns `OPSCOPE_ERROR_INCOMPLETE` if something is
/// missing, which the recording's manifest names, and `OPSCOPE_ERROR_BUSY` while another call uses the profiler. Except
/// in the latter case, the profiler is freed.
opscope_status_t opscope_profiler_finish(opscope_profiler_t profiler);

/// Writes the files of a format, "perfetto", "chrome" or "csv", into the directory of a recording. Existing files stay
/// unchanged.
opscope_status_t opscope_recording_export(const char *directory, const char *format);

/// Creates a debugger without a client.
opscope_status_t opscope_debugger_create(opscope_debugger_t *debugger);

/// Shows a model to clients before its first run, so that they can set breakpoints on its operators. It stays shown
/// until `opscope_debugger_unload`, or until the debugger is freed. If a client is attached, the call waits until the
/// client has acknowledged the event, or its lease has expired: load first and then attach, or read events on another
/// thread.
opscope_status_t opscope_debugger_load(opscope_debugger_t debugger, opscope_session_t session);

/// Stops showing a model to clients.
opscope_status_t opscope_debugger_unload(opscope_debugger_t debugger, opscope_session_t session);

/// Starts a server, through which debuggers of the same user can attach until it is freed. `socket` is the path that it
/// listens at; NULL selects the path at which `opscope debug --attach PID` looks for it.
opscope_status_t opscope_debugger_serve(opscope_debugger_t debugger, const char *socket, opscope_server_t *server);

/// Returns the path that a server listens at; NULL for an invalid handle. The text is valid until the server is freed.
const char *opscope_server_path(opscope_server_t server);

/// Ends a server: detaches its client, and removes the socket.
opscope_status_t opscope_server_free(opscope_server_t server);

/// Frees a debugger. Clients that are attached through a server or an attachment stay attached. This may wait: a client
/// that receives synchronously that a model is unloaded must acknowledge that, or its lease must expire.
opscope_status_t opscope_debugger_free(opscope_debugger_t debugger);

/// Attaches a client. A debugger has one client at a time. Its first events report the existing models and runs.
opscope_status_t opscope_debugger_attach(opscope_debugger_t debugger,
                                         const opscope_attach_options_t *options,
                                         opscope_attachment_t *attachment);

/// Takes the next event from a queue, an `opscope_queue_t`, and writes it to `event`, whose `size` must be set. Returns
/// `OPSCOPE_EMPTY` if none is waiting.
opscope_status_t opscope_attachment_next_event(opscope_attachment_t attachment,
                                               uint32_t queue_number,
                                               opscope_event_t *event);

/// Resumes the run that an event has stopped. `how` may be NULL: then the run continues until something stops it.
/// Acknowledging an event that stopped no run has no effect.
opscope_status_t opscope_attachment_acknowledge(opscope_attachment_t attachment,
                                                uint64_t sequence,
                                                const opscope_resume_t *how);

/// Resumes all runs whose events were read, and writes their number to `count` unless that is NULL. Runs whose events
/// were not read stay stopped.
opscope_status_t opscope_attachment_acknowledge_all(opscope_attachment_t attachment, size_t *count);

/// Restarts the lease of an event.
opscope_status_t opscope_attachment_renew(opscope_attachment_t attachment, uint64_t sequence);

/// Sets the function that is called when events have arrived; NULL removes it. After this returns, the previous
/// function is not called again.
opscope_status_t opscope_attachment_set_notification_callback(opscope_attachment_t attachment,
                                                              opscope_notification_callback_t callback,
                                                              void *user);

/// Writes to `descriptor` a file descriptor that is readable while events are waiting. It is meant for `poll`: it must
/// be neither read nor closed, and is valid until the attachment is freed.
opscope_status_t opscope_attachment_descriptor(opscope_attachment_t attachment, int32_t *descriptor);

/// Replaces the kinds of events that the client receives, each an `opscope_event_kind_t`; a `count` of 0 selects the
/// default.
opscope_status_t opscope_attachment_subscribe(opscope_attachment_t attachment, const uint32_t *events, size_t count);

/// Stops a run at its next operator. `OPSCOPE_NO_RUN` stops all runs, or the next run if none is running. Writes the
/// number of runs that will stop to `count` unless that is NULL.
opscope_status_t opscope_attachment_pause(opscope_attachment_t attachment, uint64_t run, size_t *count);

/// Detaches the client: its breakpoints are removed, and threads that wait continue. It can still read waiting events;
/// the last one is `OPSCOPE_DETACH_COMPLETE`.
opscope_status_t opscope_attachment_detach(opscope_attachment_t attachment);

/// Detaches the client if it is attached, and frees the attachment. The notification callback is not called afterwards;
/// if it makes this call itself, that is its last call.
opscope_status_t opscope_attachment_free(opscope_attachment_t attachment);

/// Sets a breakpoint, and writes its number to `number`.
opscope_status_t opscope_attachment_add_breakpoint(opscope_attachment_t attachment,
                                                   const opscope_breakpoint_t *breakpoint,
                                                   uint32_t *number);

/// Changes a breakpoint.
opscope_status_t opscope_attachment_change_breakpoint(opscope_attachment_t attachment,
                                                      uint32_t number,
                                                      const opscope_breakpoint_change_t *change);

/// Removes a breakpoint.
opscope_status_t opscope_attachment_remove_breakpoint(opscope_attachment_t attachment, uint32_t number);

/// Writes the state of a breakpoint to `info`, whose `size` must be set.
opscope_status_t opscope_attachment_breakpoint(opscope_attachment_t attachment,
                                               uint32_t number,
                                               opscope_breakpoint_info_t *info);

/// Copies a tensor of a stopped run into a new list with one tensor, which the caller frees. `reference` is `input[0]`,
/// `output[1]`, `weight[0]` or `value("name")`.
opscope_status_t opscope_attachment_tensor(opscope_attachment_t attachment,
                                           uint64_t sequence,
                                           const char *reference,
                                           opscope_tensors_t *tensors);

/// Calls back with a tensor of a stopped run, without a copy, and returns once the callback has returned. This restarts
/// the lease of the event.
opscope_status_t opscope_attachment_look(opscope_attachment_t attachment,
                                         uint64_t sequence,
                                         const char *reference,
                                         opscope_look_callback_t callback,
                                         void *user);

/// Replaces an input before an operator, or an output after it. The tensor, which is copied, must have the same type
/// and shape.
opscope_status_t opscope_attachment_replace(opscope_attachment_t attachment,
                                            uint64_t sequence,
                                            const char *reference,
                                            const opscope_tensor_t *tensor);

/// Writes a JSON object to `json` that says where a stopped run is, and which tensors it has there;
/// `docs/debug-protocol.md` describes it as a location. The text is valid until the same thread's next query.
opscope_status_t opscope_attachment_location(opscope_attachment_t attachment, uint64_t sequence, const char **json);

/// Writes a JSON object to `json` with the models, the runs, the stopped threads and the queues under `status`, and the
/// breakpoints under `breakpoints`; `docs/debug-protocol.md` describes both. The text is valid until the same thread's
/// next query.
opscope_status_t opscope_attachment_status(opscope_attachment_t attachment, const char **json);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* OPSCOPE_H */
