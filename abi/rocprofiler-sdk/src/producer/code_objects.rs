use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};

use opscope_producer::layout::{Kernel, Model, Plan};
use opscope_producer::{FromProducer, forget_plan, keep_text, kernel_name, number_kernels};
use opscope_sys::{Mutex, MutexGuard};

use super::attachment::Producer;
use crate::agents;
use crate::kinds::{CODE_OBJECT_LOAD, CODE_OBJECT_SYMBOL, Domain};
use crate::layout::{CodeObjectLoad, KernelSymbol};
use crate::tracing::{Event, Phase};

/// The number of a producer, and of a model, plan or kernel among its own.
type Key = (u64, u64);

#[derive(Default)]
pub(super) struct Loaded {
    models: HashMap<Key, LoadedModel>,
}

const STORAGE_NONE: i32 = 0;
const STORAGE_FILE: i32 = 1;

/// A loaded model. Its plans are code objects.
struct LoadedModel {
    /// The path of its file, as a text that lives as long as the process.
    uri: &'static CStr,
    /// The size of its file in bytes; `None` for a model from memory.
    size: Option<u64>,
    plans: Vec<(u64, CodeObject)>,
}

/// A code object that was reported to tools, and its kernels.
struct CodeObject {
    object: Option<(Event, CodeObjectLoad)>,
    symbols: Vec<(Event, KernelSymbol)>,
}

// SAFETY: the pointers lead to memory that lives as long as the process; a tool's values may move between threads.
#[allow(unsafe_code, reason = "what a tool gets has pointers")]
unsafe impl Send for CodeObject {}

static LOADED: Mutex<Option<Loaded>> = Mutex::new(None);
static NEXT_OBJECT: AtomicU64 = AtomicU64::new(1);

pub(super) fn lock() -> MutexGuard<'static, Option<Loaded>> {
    LOADED.lock()
}

fn with_loaded<R>(change: impl FnOnce(&mut Loaded) -> R) -> R {
    change(lock().get_or_insert_default())
}

/// Notes that a model was loaded, and its file, for the plans that are made later.
pub fn model_loaded(producer: &Producer, model: &FromProducer<'_, Model>) {
    let (id, path) = (model.id, model.path().to_string_lossy().into_owned());
    let path = fs::canonicalize(&path).map_or(path, |path| path.to_string_lossy().into_owned());
    let size = fs::metadata(&path).ok().map(|file| file.len());
    let (place, bytes) = (if size.is_some() { "file" } else { "memory" }, size.unwrap_or(0));
    let uri = keep_text(CString::new(format!("{place}://{path}#offset=0&size={bytes}")).unwrap_or_default());
    with_loaded(|loaded| loaded.models.insert((producer.number, id), LoadedModel { uri, size, plans: Vec::new() }));
}

/// Reports a new plan to the tools, as a code object with a symbol for each of its kernels.
pub fn plan_made(producer: &Producer, plan: &FromProducer<'_, Plan>) {
    let first = number_kernels(producer.number, plan);
    let place = |loaded: &mut Loaded| {
        let model = loaded.models.get(&(producer.number, plan.model))?;
        Some((model.uri, model.size))
    };
    let Some((uri, size)) = with_loaded(place) else { return };

    let id = NEXT_OBJECT.fetch_add(1, Ordering::Relaxed);
    // Reporting may call the tools, so no lock is held.
    let object = begin(CODE_OBJECT_LOAD, || CodeObjectLoad {
        size: size_of::<CodeObjectLoad>() as u64,
        code_object_id: id,
        agent_id: agents::engine(),
        hsa_agent: 0,
        uri: uri.as_ptr(),
        load_base: std::ptr::from_ref::<Plan>(plan) as u64,
        load_size: size.unwrap_or(0),
        load_delta: 0,
        storage_type: if size.is_some() { STORAGE_FILE } else { STORAGE_NONE },
        // The file is not open, so the descriptor is -1.
        storage: [u64::from(u32::MAX), 0],
    });
    let symbols = plan
        .kernels()
        .zip(first..)
        .filter_map(|(kernel, kernel_id)| begin(CODE_OBJECT_SYMBOL, || symbol(&kernel, kernel_id, id)));
    let made = CodeObject { object, symbols: symbols.collect() };
    with_loaded(|loaded| {
        if let Some(model) = loaded.models.get_mut(&(producer.number, plan.model)) {
            model.plans.push((plan.id, made));
        }
    });
}

/// Reports to the tools that the plans of a model were unloaded with it.
pub fn model_unloaded(producer: &Producer, model: &FromProducer<'_, Model>) {
    let model = model.id;
    let unloaded = with_loaded(|loaded| loaded.models.remove(&(producer.number, model)));
    for (plan, mut object) in unloaded.into_iter().flat_map(|model| model.plans) {
        forget_plan(producer.number, plan);
        if let Some((event, payload)) = &mut object.object {
            event.call_started(CODE_OBJECT_LOAD, Phase::Exit, || *payload);
        }
        for (event, payload) in &mut object.symbols {
            event.call_started(CODE_OBJECT_SYMBOL, Phase::Exit, || *payload);
        }
    }
}

/// Begins the report of a loaded object to the contexts that want it.
fn begin<T: Copy>(operation: i32, payload: impl FnOnce() -> T) -> Option<(Event, T)> {
    let mut event = Event::uncorrelated(Domain::CodeObject, |route| route.calls(operation).is_some())?;
    let payload = payload();
    event.call(operation, Phase::Enter, || payload);
    Some((event, payload))
}

fn symbol(kernel: &Kernel, kernel_id: u64, code_object_id: u64) -> KernelSymbol {
    KernelSymbol {
        size: size_of::<KernelSymbol>() as u64,
        kernel_id,
        code_object_id,
        kernel_name: kernel_name(kernel_id).map_or(std::ptr::null(), CStr::as_ptr),
        kernel_object: std::ptr::from_ref(kernel) as u64,
        kernarg_segment_size: 0,
        kernarg_segment_alignment: 0,
        group_segment_size: 0,
        private_segment_size: 0,
        sgpr_count: 0,
        arch_vgpr_count: 0,
        accum_vgpr_count: 0,
        kernel_code_entry_byte_offset: 0,
        kernel_address: std::ptr::from_ref(kernel) as u64,
    }
}
