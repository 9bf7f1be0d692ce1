use std::ffi::{c_char, c_int, c_void};
use std::num::NonZeroUsize;
use std::sync::Arc;

use opscope::Session;
use opscope::model::{Fidelity, LoadOptions};
use opscope::onnx::Graph;

use super::consumers::attach_once;
use super::model::{Model, ModelId};
use super::prepared::prepare_once;
use super::sizes::Sizes;
use super::source::{read_file, read_memory};
use super::table::{add, next_id};
use crate::border::{Failure, call, codes, out};
use crate::{contexts, dump, recordings};

/// Memory that a program gives a model.
pub(super) type Memory = (*mut c_void, usize);

/// Loads a model's file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclmdlLoadFromFile(model_path: *const c_char, model_id: *mut u32) -> c_int {
    // SAFETY: as the caller promises.
    call(|| unsafe { load(model_id, || read_file(model_path)) })
}

/// Loads a model from memory, which is copied.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclmdlLoadFromMem(model: *const c_void, model_size: usize, model_id: *mut u32) -> c_int {
    // SAFETY: as the caller promises.
    call(|| unsafe { load(model_id, || read_memory(model, model_size)) })
}

/// Loads a model's file, with memory for it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclmdlLoadFromFileWithMem(
    model_path: *const c_char,
    model_id: *mut u32,
    work: *mut c_void,
    work_size: usize,
    weights: *mut c_void,
    weight_size: usize,
) -> c_int {
    // SAFETY: as the caller promises.
    call(|| unsafe {
        load(model_id, || with_memory(read_file(model_path)?, (work, work_size), (weights, weight_size)))
    })
}

/// Loads a model from memory, which is copied, with memory for it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclmdlLoadFromMemWithMem(
    model: *const c_void,
    model_size: usize,
    model_id: *mut u32,
    work: *mut c_void,
    work_size: usize,
    weights: *mut c_void,
    weight_size: usize,
) -> c_int {
    // SAFETY: as the caller promises.
    let read = || unsafe { with_memory(read_memory(model, model_size)?, (work, work_size), (weights, weight_size)) };
    // SAFETY: as the caller promises.
    call(|| unsafe { load(model_id, read) })
}

/// Checks the memory that the program gives for a model.
pub(super) fn with_memory(graph: Arc<Graph>, work: Memory, weights: Memory) -> Result<Arc<Graph>, Failure> {
    Sizes::of(&graph).check(work, weights)?;
    Ok(graph)
}

/// Loads a graph, and writes the model's number.
///
/// # Safety
/// `id` is NULL or writable.
pub(super) unsafe fn load(id: *mut ModelId, read: impl FnOnce() -> Result<Arc<Graph>, Failure>) -> Result<(), Failure> {
    let to = out(id, "modelId")?;
    let graph = read()?;
    contexts::check_current()?;
    attach_once();
    prepare_once();
    let fidelity = if dump::wants_exact() { Fidelity::Exact } else { Fidelity::Optimised };
    let options = LoadOptions::new(fidelity, NonZeroUsize::MIN);
    let session = Session::with_graph(graph, &options).map_err(|error| {
        Failure::new(codes::GE_LOAD_MODEL, "EH0012", format!("the model cannot be loaded: {error}"))
    })?;
    let id = next_id();
    dump::loaded(id, &session);
    recordings::loaded(id, &session);
    add(Model::new(id, session));
    // SAFETY: it is not NULL, and the caller promises that it is writable.
    unsafe { to.write(id) };
    Ok(())
}
