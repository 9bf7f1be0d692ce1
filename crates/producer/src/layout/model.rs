use std::ffi::c_char;

use super::assert_layout;

/// opscope_producer_model_t.fidelity: the engine may fuse and rewrite operators.
pub const OPSCOPE_FIDELITY_OPTIMISED: u64 = 1;
/// opscope_producer_model_t.fidelity: the engine executes every operator as the file has it.
pub const OPSCOPE_FIDELITY_EXACT: u64 = 2;

/// opscope_producer_kernel_t.operator_id: the kernel stands for no operator of the file.
pub const OPSCOPE_NO_OPERATOR: u64 = u64::MAX;

/// The producer itself.
#[repr(C)]
pub struct Runtime {
    /// The size of this struct, in bytes.
    pub size: usize,
    /// The producer's name, such as "opscope". Lives as long as the process.
    pub name: *const c_char,
    /// The producer's version, such as "0.1.0". Lives as long as the process.
    pub version: *const c_char,
    /// The same as a number: 10000 * major + 100 * minor + patch.
    pub version_number: u64,
    /// The thread that attached the consumer, as gettid() gives it.
    pub thread: u64,
    /// When the consumer was attached, in ns of CLOCK_BOOTTIME.
    pub time: u64,
}

/// An operator: one node of a model's file.
#[repr(C)]
pub struct Operator {
    /// The size of this struct, in bytes.
    pub size: usize,
    /// Its index in opscope_producer_model_t.operators.
    pub id: u64,
    /// Its name in the file, or "OpType_index" if it has none. Unique in the model.
    pub name: *const c_char,
    /// Its type, such as "Conv".
    pub r#type: *const c_char,
    /// The domain of its operator set; "" for ONNX's own.
    pub domain: *const c_char,
}

/// A model that an engine has loaded. The struct and everything that it points to live until model_unloaded has
/// returned.
#[repr(C)]
pub struct Model {
    /// The size of this struct, in bytes.
    pub size: usize,
    /// Its id: above 0, and never reused by this producer.
    pub id: u64,
    /// The name of its graph; may be "".
    pub name: *const c_char,
    /// The path of its file, as the user gave it.
    pub path: *const c_char,
    /// The engine that runs it, such as "tract".
    pub engine: *const c_char,
    /// The engine's version.
    pub engine_version: *const c_char,
    /// OPSCOPE_FIDELITY_OPTIMISED or OPSCOPE_FIDELITY_EXACT.
    pub fidelity: u64,
    /// Its operators, in order of execution.
    pub operators: *const *const Operator,
    /// The number of operators.
    pub operator_count: usize,
}

/// An operator that a kernel stands for. This struct never grows.
#[repr(C)]
pub struct Attribution {
    /// The operator: an index into opscope_producer_model_t.operators.
    pub operator_id: u64,
    /// 1 if the engine states it, 0 if it was inferred from the graph.
    pub exact: u64,
}

/// A kernel: one step of a plan. The struct and everything that it points to live until model_unloaded of its model has
/// returned, so a consumer may keep a pointer to it until then.
#[repr(C)]
pub struct Kernel {
    /// The size of this struct, in bytes.
    pub size: usize,
    /// Its index in opscope_producer_plan_t.kernels.
    pub index: u64,
    /// The operator that its time counts for: an index into opscope_producer_model_t.operators. OPSCOPE_NO_OPERATOR for
    /// a kernel that the engine added on its own, such as a conversion between layouts.
    pub operator_id: u64,
    /// The name of that operator; the same as kernel if there is none.
    pub name: *const c_char,
    /// The type of that operator; the same as op if there is none.
    pub r#type: *const c_char,
    /// The engine's own name for the kernel.
    pub kernel: *const c_char,
    /// The engine's name for what the kernel does, such as "OptMatMul".
    pub op: *const c_char,
    /// All operators that the kernel stands for; the first is that of operator_id.
    pub operators: *const Attribution,
    /// The number of operators; 0 if operator_id is OPSCOPE_NO_OPERATOR.
    pub operator_count: usize,
    /// The element type of the first output, such as "float32"; "" for one of the engine's own types.
    pub output_dtype: *const c_char,
    /// The sizes of the first output's dimensions.
    pub output_shape: *const u64,
    /// The number of dimensions; 0 for a scalar, and for a kernel without outputs.
    pub output_rank: usize,
}

/// A plan: a model prepared for inputs of given shapes. Lives as long as its kernels.
#[repr(C)]
pub struct Plan {
    /// The size of this struct, in bytes.
    pub size: usize,
    /// Its id: above 0, and never reused by this producer.
    pub id: u64,
    /// The id of its model.
    pub model: u64,
    /// The kernels that every run executes, in order.
    pub kernels: *const *const Kernel,
    /// The number of kernels.
    pub kernel_count: usize,
}

/// A thread on which the producer runs models. Lives until the call has returned.
#[repr(C)]
pub struct Thread {
    /// The size of this struct, in bytes.
    pub size: usize,
    /// Its id, as gettid() gives it.
    pub id: u64,
    /// The system's name of it; may be "".
    pub name: *const c_char,
    /// When the producer first ran something on it, in ns of CLOCK_BOOTTIME.
    pub time: u64,
}

assert_layout!(Runtime, 48: size, name, version, version_number, thread, time);
assert_layout!(Operator, 40: size, id, name, r#type, domain);
assert_layout!(Model, 72: size, id, name, path, engine, engine_version, fidelity, operators, operator_count);
assert_layout!(Attribution, 16: operator_id, exact);
assert_layout!(
    Kernel, 96: size, index, operator_id, name, r#type, kernel, op, operators, operator_count, output_dtype, output_shape,
    output_rank
);
assert_layout!(Plan, 40: size, id, model, kernels, kernel_count);
assert_layout!(Thread, 32: size, id, name, time);
