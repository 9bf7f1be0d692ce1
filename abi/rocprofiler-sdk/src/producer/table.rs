use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

use opscope_producer::layout::{
    OPSCOPE_ATTACH_WRONG_VERSION, OPSCOPE_ATTACHED, OPSCOPE_PRODUCER_VERSION, Runtime, Table,
};

use super::attached::{Producer, lock};
use super::{code_objects, dispatches, memory};
use crate::kinds::{COMPLETE, Domain, ENQUEUE, RUNTIME_NONE};
use crate::services::{Route, routes};
use crate::tracing::announce_runtime;

/// Takes the table of a producer. Its functions are set when tools are initialized: by [`connect_all`].
///
/// # Safety
/// It is a producer's table for this library, or NULL.
pub unsafe fn attach(table: *mut Table) -> c_int {
    // SAFETY: it is not NULL, and the first fields of every table are these.
    if table.is_null() || unsafe { (*table).version != OPSCOPE_PRODUCER_VERSION || (*table).size < size_of::<Table>() }
    {
        return OPSCOPE_ATTACH_WRONG_VERSION;
    }
    let mut producers = lock();
    let producer: &'static Producer = Box::leak(Box::new(Producer {
        number: producers.len() as u64,
        table,
        // SAFETY: the table has all fields, and consists of numbers and pointers.
        nothing: unsafe { table.read() },
        version: AtomicU64::new(0),
        is_connected: AtomicBool::new(false),
    }));
    producers.push(producer);
    drop(producers);
    // SAFETY: before it is attached, a consumer may write to its table.
    unsafe {
        (*table).consumer = std::ptr::from_ref(producer).cast_mut().cast();
        (*table).runtime_initialized = Some(runtime_initialized);
    }
    OPSCOPE_ATTACHED
}

/// Sets the functions of the producers that have none yet, and tells the tools of them. Called when tools are initialized.
pub fn connect_all() {
    let producers = lock().clone();
    for producer in producers {
        if !producer.is_connected.swap(true, Ordering::AcqRel) {
            producer.connect();
        }
    }
}

/// Sets what the producers call to what the started contexts want.
pub fn update_all() {
    let producers = lock().clone();
    for producer in producers.iter().filter(|producer| producer.is_connected.load(Ordering::Acquire)) {
        producer.update();
    }
}

unsafe extern "C" fn runtime_initialized(consumer: *mut c_void, runtime: *const Runtime) {
    // SAFETY: a producer passes what `attach` set, and a runtime.
    let (producer, runtime) = unsafe { (&*consumer.cast::<Producer>(), &*runtime) };
    producer.version.store(runtime.version_number, Ordering::Release);
    if producer.is_connected.load(Ordering::Acquire) {
        announce_runtime(RUNTIME_NONE, runtime.version_number, producer.number);
    }
}

/// Stores a function, or what the table had there at first, to a field of a producer's table.
macro_rules! set {
    ($producer:expr, $field:ident, $wanted:expr, $function:path) => {{
        let function = if $wanted { Some($function as unsafe extern "C" fn(_, _)) } else { $producer.nothing.$field };
        let function = function.map_or(std::ptr::null_mut(), |function| function as *mut c_void);
        // SAFETY: an `Option` of a function pointer has the layout of a pointer. The producer loads the field atomically.
        unsafe { AtomicPtr::from_ptr((&raw mut (*$producer.table).$field).cast()) }.store(function, Ordering::Release);
    }};
}

impl Producer {
    fn connect(&self) {
        let names_kernels = !routes(Domain::CodeObject).is_empty() || !routes(Domain::KernelDispatch).is_empty();
        set!(self, model_loaded, names_kernels, code_objects::model_loaded);
        set!(self, model_unloaded, names_kernels, code_objects::model_unloaded);
        set!(self, plan_made, names_kernels, code_objects::plan_made);
        self.update();
        let version = self.version.load(Ordering::Acquire);
        // A producer that is being attached says its version afterwards.
        if version != 0 {
            announce_runtime(RUNTIME_NONE, version, self.number);
        }
    }

    fn update(&self) {
        let any = |domain, wants: fn(&Route) -> bool| {
            routes(domain).iter().any(|route| route.context.is_started() && wants(route))
        };
        let begins = any(Domain::KernelDispatch, |route| route.calls(ENQUEUE).is_some());
        set!(self, dispatch_begin, begins, dispatches::dispatch_begin);
        let ends = begins || any(Domain::KernelDispatch, |route| route.wants(COMPLETE));
        set!(self, dispatch_end, ends, dispatches::dispatch_end);
        set!(self, copy, any(Domain::MemoryCopy, |_| true), memory::copy);
        set!(self, allocation, any(Domain::MemoryAllocation, |_| true), memory::allocation);
    }
}
