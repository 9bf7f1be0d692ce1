/*
 * opscope_producer.h: the border between a producer, which is a program that runs models, and its consumers, which are
 * libraries that receive reports of what it does.
 *
 * A consumer is a shared library that exports one function:
 *
 *     int opscope_attach_producer(opscope_producer_t *table)
 *     {
 *         if (table->version != OPSCOPE_PRODUCER_VERSION)
 *             return OPSCOPE_ATTACH_WRONG_VERSION;
 *         table->consumer = &my_state;
 *         table->dispatch_end = my_dispatch_end;
 *         return OPSCOPE_ATTACHED;
 *     }
 *
 * The producer calls it once, and then calls the functions in the table. It finds libraries with known names beside
 * itself or in the directory OPSCOPE_LIB_DIR, and any library that the process has already loaded.
 *
 * Times are nanoseconds of CLOCK_BOOTTIME. Threads are ids as gettid() returns them. Strings are UTF-8, end with NUL,
 * and are never NULL. A consumer owns nothing that it receives. The memory behind a pointer lives until the call has
 * returned, unless its comment says that it lives longer.
 *
 * Every struct begins with its size. Later versions append fields, and never change or remove one. A consumer that was
 * compiled with a newer header than the producer must check size before it reads a new field.
 */

#ifndef OPSCOPE_PRODUCER_H
#define OPSCOPE_PRODUCER_H

#include <stddef.h>
#include <stdint.h>

// opscope_producer_model_t.fidelity: the engine may fuse and rewrite operators.
#define OPSCOPE_FIDELITY_OPTIMISED 1

// opscope_producer_model_t.fidelity: the engine executes every operator as the file has it.
#define OPSCOPE_FIDELITY_EXACT 2

// opscope_producer_kernel_t.operator_id: the kernel stands for no operator of the file.
#define OPSCOPE_NO_OPERATOR UINT64_MAX

// opscope_producer_copy_t.direction: inputs, into the engine's memory.
#define OPSCOPE_COPY_HOST_TO_DEVICE 1

// opscope_producer_copy_t.direction: outputs, out of the engine's memory.
#define OPSCOPE_COPY_DEVICE_TO_HOST 2

// opscope_producer_allocation_t.operation: the engine holds memory for one more tensor.
#define OPSCOPE_MEMORY_ALLOCATE 1

// opscope_producer_allocation_t.operation: the engine no longer holds it.
#define OPSCOPE_MEMORY_FREE 2

// The version of the table. It changes when a field changes its meaning. New fields are appended, and only increase
// size.
#define OPSCOPE_PRODUCER_VERSION 1

// Returned by opscope_attach_producer: the consumer is attached.
#define OPSCOPE_ATTACHED 0

// Returned by opscope_attach_producer: the consumer does not support this version of the table.
#define OPSCOPE_ATTACH_WRONG_VERSION -1

// Returned by opscope_use_tool: the consumer loads this tool.
#define OPSCOPE_TOOL_TAKEN 0

// Returned by opscope_use_tool: the file is not a tool for this consumer.
#define OPSCOPE_TOOL_NOT_MINE -1

// Returned by opscope_use_tool: it is a tool for this consumer, which accepts no more tools.
#define OPSCOPE_TOOL_TOO_LATE -2

// The producer itself.
typedef struct opscope_producer_runtime_t {
  // The size of this struct, in bytes.
  size_t size;
  // The producer's name, such as "opscope". Lives as long as the process.
  const char *name;
  // The producer's version, such as "0.1.0". Lives as long as the process.
  const char *version;
  // The same as a number: 10000 * major + 100 * minor + patch.
  uint64_t version_number;
  // The thread that attached the consumer, as gettid() gives it.
  uint64_t thread;
  // When the consumer was attached, in ns of CLOCK_BOOTTIME.
  uint64_t time;
} opscope_producer_runtime_t;

// An operator: one node of a model's file.
typedef struct opscope_producer_operator_t {
  // The size of this struct, in bytes.
  size_t size;
  // Its index in opscope_producer_model_t.operators.
  uint64_t id;
  // Its name in the file, or "OpType_index" if it has none. Unique in the model.
  const char *name;
  // Its type, such as "Conv".
  const char *type;
  // The domain of its operator set; "" for ONNX's own.
  const char *domain;
} opscope_producer_operator_t;

// A model that an engine has loaded. The struct and everything that it points to live until model_unloaded has
// returned.
typedef struct opscope_producer_model_t {
  // The size of this struct, in bytes.
  size_t size;
  // Its id: above 0, and never reused by this producer.
  uint64_t id;
  // The name of its graph; may be "".
  const char *name;
  // The path of its file, as the user gave it.
  const char *path;
  // The engine that runs it, such as "tract".
  const char *engine;
  // The engine's version.
  const char *engine_version;
  // OPSCOPE_FIDELITY_OPTIMISED or OPSCOPE_FIDELITY_EXACT.
  uint64_t fidelity;
  // Its operators, in order of execution.
  const struct opscope_producer_operator_t *const *operators;
  // The number of operators.
  size_t operator_count;
} opscope_producer_model_t;

// An operator that a kernel stands for. This struct never grows.
typedef struct opscope_producer_attribution_t {
  // The operator: an index into opscope_producer_model_t.operators.
  uint64_t operator_id;
  // 1 if the engine states it, 0 if it was inferred from the graph.
  uint64_t exact;
} opscope_producer_attribution_t;

// A kernel: one step of a plan. The struct and everything that it points to live until model_unloaded of its model has
// returned, so a consumer may keep a pointer to it until then.
typedef struct opscope_producer_kernel_t {
  // The size of this struct, in bytes.
  size_t size;
  // Its index in opscope_producer_plan_t.kernels.
  uint64_t index;
  // The operator that its time counts for: an index into opscope_producer_model_t.operators. OPSCOPE_NO_OPERATOR for
  // a kernel that the engine added on its own, such as a conversion between layouts.
  uint64_t operator_id;
  // The name of that operator; the same as kernel if there is none.
  const char *name;
  // The type of that operator; the same as op if there is none.
  const char *type;
  // The engine's own name for the kernel.
  const char *kernel;
  // The engine's name for what the kernel does, such as "OptMatMul".
  const char *op;
  // All operators that the kernel stands for; the first is that of operator_id.
  const struct opscope_producer_attribution_t *operators;
  // The number of operators; 0 if operator_id is OPSCOPE_NO_OPERATOR.
  size_t operator_count;
  // The element type of the first output, such as "float32"; "" for one of the engine's own types.
  const char *output_dtype;
  // The sizes of the first output's dimensions.
  const uint64_t *output_shape;
  // The number of dimensions; 0 for a scalar, and for a kernel without outputs.
  size_t output_rank;
} opscope_producer_kernel_t;

// A plan: a model prepared for inputs of given shapes. Lives as long as its kernels.
typedef struct opscope_producer_plan_t {
  // The size of this struct, in bytes.
  size_t size;
  // Its id: above 0, and never reused by this producer.
  uint64_t id;
  // The id of its model.
  uint64_t model;
  // The kernels that every run executes, in order.
  const struct opscope_producer_kernel_t *const *kernels;
  // The number of kernels.
  size_t kernel_count;
} opscope_producer_plan_t;

// A thread on which the producer runs models. Lives until the call has returned.
typedef struct opscope_producer_thread_t {
  // The size of this struct, in bytes.
  size_t size;
  // Its id, as gettid() gives it.
  uint64_t id;
  // The system's name of it; may be "".
  const char *name;
  // When the producer first ran something on it, in ns of CLOCK_BOOTTIME.
  uint64_t time;
} opscope_producer_thread_t;

// A run: one inference. Lives until the call has returned.
typedef struct opscope_producer_run_t {
  // The size of this struct, in bytes.
  size_t size;
  // Its id: above 0, and never reused by this producer.
  uint64_t id;
  // Its number, as the program counts its runs from 0. Runs of several models may have the same number.
  uint64_t number;
  // The id of its model.
  uint64_t model;
  // The id of its plan.
  uint64_t plan;
  // The thread that it began on, as gettid() gives it.
  uint64_t thread;
  // When it began, before its inputs were copied, in ns of CLOCK_BOOTTIME.
  uint64_t begin;
  // When it ended, after its outputs were copied, in ns of CLOCK_BOOTTIME. 0 in run_begin.
  uint64_t end;
  // 1 if it failed or was stopped, else 0. 0 in run_begin.
  uint64_t failed;
} opscope_producer_run_t;

// One level of the path to an operator in the body of a control flow operator. This struct never grows.
typedef struct opscope_producer_iteration_t {
  // The If, Loop or Scan: an index into opscope_producer_model_t.operators.
  uint64_t operator_id;
  // The iteration of its body, from 0.
  uint64_t iteration;
} opscope_producer_iteration_t;

// A dispatch: one execution of a kernel in a run. Lives until the call has returned, except for its kernel.
typedef struct opscope_producer_dispatch_t {
  // The size of this struct, in bytes.
  size_t size;
  // The id of the model.
  uint64_t model;
  // The id of the plan.
  uint64_t plan;
  // The id of the run.
  uint64_t run;
  // The kernel. Lives until the model is unloaded.
  const struct opscope_producer_kernel_t *kernel;
  // For an operator in the body of a control flow operator: the iterations that it is executed in, the outermost
  // first. NULL if path_length is 0.
  const struct opscope_producer_iteration_t *path;
  // The number of iterations.
  size_t path_length;
  // The thread that executes it, or that reports it if the engine executes it on a device, as gettid() gives it.
  uint64_t thread;
  // In dispatch_begin: when this function was about to be called. In dispatch_end: when the kernel began, as
  // measured by the engine. In ns of CLOCK_BOOTTIME.
  uint64_t start;
  // When the kernel ended, as measured by the engine, in ns of CLOCK_BOOTTIME. 0 in dispatch_begin.
  uint64_t end;
} opscope_producer_dispatch_t;

// A copy of all inputs or all outputs of a run. Lives until the call has returned.
typedef struct opscope_producer_copy_t {
  // The size of this struct, in bytes.
  size_t size;
  // The id of the model.
  uint64_t model;
  // The id of the plan.
  uint64_t plan;
  // The id of the run.
  uint64_t run;
  // OPSCOPE_COPY_HOST_TO_DEVICE or OPSCOPE_COPY_DEVICE_TO_HOST.
  uint64_t direction;
  // How many bytes were copied.
  uint64_t bytes;
  // How many tensors were copied.
  uint64_t tensors;
  // The thread that copied them, as gettid() gives it.
  uint64_t thread;
  // When it began, in ns of CLOCK_BOOTTIME.
  uint64_t start;
  // When it ended, in ns of CLOCK_BOOTTIME.
  uint64_t end;
} opscope_producer_copy_t;

// Memory for a tensor of a run. Everything that a run allocates is freed before its run_end. Lives until the call has
// returned.
typedef struct opscope_producer_allocation_t {
  // The size of this struct, in bytes.
  size_t size;
  // The id of the model.
  uint64_t model;
  // The id of the plan.
  uint64_t plan;
  // The id of the run.
  uint64_t run;
  // OPSCOPE_MEMORY_ALLOCATE or OPSCOPE_MEMORY_FREE.
  uint64_t operation;
  // The address. It is not allocated again before it is freed.
  uint64_t address;
  // The number of bytes.
  uint64_t bytes;
  // The thread on which it happened, as gettid() gives it.
  uint64_t thread;
  // When it happened, in ns of CLOCK_BOOTTIME.
  uint64_t time;
} opscope_producer_allocation_t;

// The functions that a producer calls. It makes one table per consumer, which lives as long as the process.
//
// At first all functions do nothing, and none is NULL. A consumer overwrites those that it wants to be called, and may
// write the first value back. Before it returns from opscope_attach_producer it may use plain stores. Later it must
// store atomically with release order: consumer before the functions, and the functions in the order in which they are
// declared here, except dispatch_end before dispatch_begin. Such a change takes effect with the next run.
//
// A function that is set has a cost for runs: for dispatch_begin the engine makes a call before each kernel, for
// dispatch_end it takes times, for allocation it watches its memory. A function that is not set costs nothing.
//
// The functions are called on the threads that run models, by several at once, until the process ends. They must not
// throw, end the thread, or run models of this producer. When the process ends, a run may lack its run_end, and a
// model its model_unloaded.
typedef struct opscope_producer_t {
  // The size of this struct, in bytes. A consumer that was compiled with a newer header than the producer must not
  // access a field beyond it.
  size_t size;
  // OPSCOPE_PRODUCER_VERSION of the producer.
  uint64_t version;
  // The consumer's own pointer: the first argument of every function.
  void *consumer;
  // Called once, after the consumer was attached.
  void (*runtime_initialized)(void *consumer, const struct opscope_producer_runtime_t *runtime);
  // Called when a model was loaded, before its first plan; if it is set later, before the next run of the model. A
  // model is announced once.
  void (*model_loaded)(void *consumer, const struct opscope_producer_model_t *model);
  // Called when an announced model is unloaded, after its last run. The memory of the model, its plans and their
  // kernels is freed when this returns.
  void (*model_unloaded)(void *consumer, const struct opscope_producer_model_t *model);
  // Called before the first run of a plan; if it is set later, before the next run. A plan is announced once.
  void (*plan_made)(void *consumer, const struct opscope_producer_plan_t *plan);
  // Called on a thread before its first run or dispatch; if it is set later, before the next one. A thread is
  // announced once.
  void (*thread_started)(void *consumer, const struct opscope_producer_thread_t *thread);
  // Called when a run begins, before its inputs are copied.
  void (*run_begin)(void *consumer, const struct opscope_producer_run_t *run);
  // Called when a run has ended, after its outputs were copied, or when it has failed. The last call for this run.
  void (*run_end)(void *consumer, const struct opscope_producer_run_t *run);
  // Called before a kernel is executed, on the thread that executes it.
  void (*dispatch_begin)(void *consumer, const struct opscope_producer_dispatch_t *dispatch);
  // Called after a kernel was executed, with the times that the engine took directly around it; also for a kernel
  // that failed. May be called later than the end of the kernel, from another thread, and out of order.
  void (*dispatch_end)(void *consumer, const struct opscope_producer_dispatch_t *dispatch);
  // Called after inputs or outputs were copied.
  void (*copy)(void *consumer, const struct opscope_producer_copy_t *copy);
  // Called after memory for a tensor was allocated or freed.
  void (*allocation)(void *consumer, const struct opscope_producer_allocation_t *allocation);
} opscope_producer_t;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Exported by a consumer, and called once by every producer that finds it, on the thread that searches for
// consumers. The table belongs to this consumer alone, and lives as long as the process.
//
// Returns OPSCOPE_ATTACHED if the consumer wants to be called, OPSCOPE_ATTACH_WRONG_VERSION if it does not support
// the version of the table, and any other value if it refuses. In each case the library stays loaded. Give the
// function default visibility if symbols are hidden.
extern int opscope_attach_producer(struct opscope_producer_t *table);

// May be exported by a consumer that runs tools: shared libraries that a user names, made for the consumer's own
// interface. A producer calls it for each tool, before opscope_attach_producer, with an absolute path that lives
// until the call has returned. The consumer inspects the file but does not load it yet, because the producer may
// end without attaching anything.
//
// Returns OPSCOPE_TOOL_TAKEN if the consumer will load this tool when it is attached, and any other value if it
// will not: OPSCOPE_TOOL_NOT_MINE or OPSCOPE_TOOL_TOO_LATE. The tool is then offered to the next consumer.
extern int opscope_use_tool(const char *path);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* OPSCOPE_PRODUCER_H */
