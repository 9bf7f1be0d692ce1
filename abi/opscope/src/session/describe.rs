use std::ffi::c_char;
use std::ptr;

use opscope::model::Fidelity;
use opscope_border::{SizedOut, exported, sized};

use super::load::{Value, opscope_fidelity_t, opscope_session_t};
use crate::border::opscope_status_t::OPSCOPE_ERROR_NOT_FOUND;
use crate::border::{Failure, KeptText, get};

/// A model and its engine. All texts are valid until the session is freed.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opscope_session_info_t {
    /// `sizeof(opscope_session_info_t)`.
    pub size: usize,
    /// The graph's name in the file.
    pub name: *const c_char,
    /// The file, as it was passed; "(memory)" for a model from memory.
    pub path: *const c_char,
    /// The program that wrote the file, with its version; empty if the file does not say.
    pub producer: *const c_char,
    /// XXH3 (64 bit) of the file's bytes.
    pub xxh3: u64,
    /// The engine's name.
    pub engine: *const c_char,
    /// The engine's version.
    pub engine_version: *const c_char,
    /// An `opscope_fidelity_t`.
    pub fidelity: u32,
    /// Threads within one operator.
    pub threads: u32,
    /// The number of operators.
    pub operators: usize,
    /// The number of inputs of a run.
    pub inputs: usize,
    /// The number of outputs of a run.
    pub outputs: usize,
}
sized!(opscope_session_info_t, 88);

/// An input or output of a model, as the file declares it. It is valid until the session is freed.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opscope_value_t {
    /// `sizeof(opscope_value_t)`.
    pub size: usize,
    /// Its name.
    pub name: *const c_char,
    /// The sizes of its dimensions; -1 for a dimension that the file leaves open. NULL if `rank` is 0 or -1.
    pub dims: *const i64,
    /// For each dimension its name in the file; NULL for a fixed size, or an open one without a name.
    pub dim_names: *const *const c_char,
    /// The number of its dimensions; -1 if the file does not give a shape.
    pub rank: i32,
    /// The type of its elements, an `opscope_dtype_t`; 0 if the file does not give it.
    pub dtype: u32,
}
sized!(opscope_value_t, 40);

/// An operator of a model. It is valid until the session is freed.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opscope_operator_t {
    /// `sizeof(opscope_operator_t)`.
    pub size: usize,
    /// Its name in the file, made unique; `OpType_index` if the file has none.
    pub name: *const c_char,
    /// Its type, such as "Conv".
    pub op_type: *const c_char,
    /// The domain of its operator set; empty for ONNX's own.
    pub domain: *const c_char,
    /// The names of its inputs by slot; NULL for an omitted input. NULL if there are none.
    pub inputs: *const *const c_char,
    /// The names of its outputs by slot; NULL for an omitted output. NULL if there are none.
    pub outputs: *const *const c_char,
    /// The number of inputs.
    pub input_count: u32,
    /// The number of outputs.
    pub output_count: u32,
    /// Its id: its position in the order of execution, from 0.
    pub id: u32,
    /// 0.
    pub reserved: u32,
}
sized!(opscope_operator_t, 64);

/// Writes what is known about a model and its engine to `info`, whose `size` must be set.
#[exported]
pub fn opscope_session_info(
    session: opscope_session_t,
    info: SizedOut<'_, opscope_session_info_t>,
) -> Result<(), Failure> {
    let loaded = get(session)?;
    let (session, texts) = (&loaded.session, &loaded.description().info);
    let [name, path, producer, engine, engine_version] = texts.each_ref().map(KeptText::as_ptr);
    let graph = session.graph();
    let value = opscope_session_info_t {
        size: size_of::<opscope_session_info_t>(),
        name,
        path,
        producer,
        xxh3: graph.source.xxh3.0,
        engine,
        engine_version,
        fidelity: match session.model().fidelity() {
            Fidelity::Optimised => opscope_fidelity_t::OPSCOPE_OPTIMISED as u32,
            Fidelity::Exact => opscope_fidelity_t::OPSCOPE_EXACT as u32,
        },
        threads: session.threads().get() as u32,
        operators: graph.all_operators().count(),
        inputs: graph.inputs.len(),
        outputs: graph.outputs.len(),
    };
    Ok(info.write(&value)?)
}

/// Writes what the file declares about an input to `value`, whose `size` must be set.
#[exported]
pub fn opscope_session_input(
    session: opscope_session_t,
    index: usize,
    value: SizedOut<'_, opscope_value_t>,
) -> Result<(), Failure> {
    Ok(value.write(&value_for_c(found(&get(session)?.description().inputs, index, "input")?))?)
}

/// Writes what the file declares about an output to `value`, whose `size` must be set.
#[exported]
pub fn opscope_session_output(
    session: opscope_session_t,
    index: usize,
    value: SizedOut<'_, opscope_value_t>,
) -> Result<(), Failure> {
    Ok(value.write(&value_for_c(found(&get(session)?.description().outputs, index, "output")?))?)
}

/// Writes an operator of the model to `value`, whose `size` must be set. Operators come in the order of execution.
#[exported]
pub fn opscope_session_operator(
    session: opscope_session_t,
    index: usize,
    value: SizedOut<'_, opscope_operator_t>,
) -> Result<(), Failure> {
    let loaded = get(session)?;
    let operator = found(&loaded.description().operators, index, "operator")?;
    let described = opscope_operator_t {
        size: size_of::<opscope_operator_t>(),
        name: operator.name.as_ptr(),
        op_type: operator.op_type.as_ptr(),
        domain: operator.domain.as_ptr(),
        inputs: pointer_or_null(operator.inputs.pointers()),
        outputs: pointer_or_null(operator.outputs.pointers()),
        input_count: operator.inputs.pointers().len() as u32,
        output_count: operator.outputs.pointers().len() as u32,
        id: index as u32,
        reserved: 0,
    };
    Ok(value.write(&described)?)
}

fn found<'a, T>(list: &'a [T], index: usize, name: &str) -> Result<&'a T, Failure> {
    list.get(index).ok_or_else(|| {
        Failure::new(OPSCOPE_ERROR_NOT_FOUND, format!("there is no {name} {index}; the model has {}", list.len()))
    })
}

fn pointer_or_null<T>(list: &[T]) -> *const T {
    if list.is_empty() { ptr::null() } else { list.as_ptr() }
}

fn value_for_c(value: &Value) -> opscope_value_t {
    let dims = value.dims.as_ref().filter(|dims| !dims.is_empty());
    opscope_value_t {
        size: size_of::<opscope_value_t>(),
        name: value.name.as_ptr(),
        dims: dims.map_or(ptr::null(), |dims| dims.as_ptr()),
        dim_names: dims.map_or(ptr::null(), |_| value.dim_names.pointers().as_ptr()),
        rank: value.dims.as_ref().map_or(-1, |dims| dims.len() as i32),
        dtype: value.dtype,
    }
}
