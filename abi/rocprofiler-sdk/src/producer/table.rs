use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use opscope_producer::layout::{OPSCOPE_ATTACH_WRONG_VERSION, OPSCOPE_ATTACHED, Runtime, Table};
use opscope_producer::{Functions, ProducerTable};

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
    // SAFETY: as the caller promises.
    let Some(table) = (unsafe { ProducerTable::new(table) }) else { return OPSCOPE_ATTACH_WRONG_VERSION };
    let mut producers = lock();
    let producer: &'static Producer = Box::leak(Box::new(Producer {
        number: producers.len() as u64,
        table,
        version: AtomicU64::new(0),
        is_connected: AtomicBool::new(false),
    }));
    producers.push(producer);
    drop(producers);
    // SAFETY: the producer is being attached.
    unsafe { producer.table.begin(std::ptr::from_ref(producer).cast_mut().cast(), runtime_initialized) };
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
    // Locked until all are set, so that the last one sees all changes. Nothing here calls a tool.
    let producers = lock();
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

impl Producer {
    fn connect(&self) {
        {
            let _producers = lock();
            self.update();
        }
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
        let names_kernels = !routes(Domain::CodeObject).is_empty() || !routes(Domain::KernelDispatch).is_empty();
        let begins = any(Domain::KernelDispatch, |route| route.calls(ENQUEUE).is_some());
        let ends = begins || any(Domain::KernelDispatch, |route| route.wants(COMPLETE));
        let copies = any(Domain::MemoryCopy, |_| true);
        let allocates = any(Domain::MemoryAllocation, |_| true);
        self.table.set(&Functions {
            // Models and plans are announced once, so they are followed while nothing is started, too.
            model_loaded: names_kernels.then_some(code_objects::model_loaded),
            model_unloaded: names_kernels.then_some(code_objects::model_unloaded),
            plan_made: names_kernels.then_some(code_objects::plan_made),
            dispatch_begin: begins.then_some(dispatches::dispatch_begin),
            dispatch_end: ends.then_some(dispatches::dispatch_end),
            copy: copies.then_some(memory::copy),
            allocation: allocates.then_some(memory::allocation),
            ..Functions::default()
        });
    }
}
