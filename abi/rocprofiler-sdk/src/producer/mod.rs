//! What opscope's producers report: models as code objects with kernel symbols, dispatches, copies and memory.

mod attachment;
mod code_objects;
mod dispatches;

use std::any::Any;
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use opscope_producer::layout::{Allocation, Copy, Dispatch, Model, Plan, Runtime};
use opscope_producer::{Consumer, FromProducer, OfferedTable, Wanted};

use crate::kinds::{COMPLETE, Domain, ENQUEUE, RUNTIME_NONE};
use crate::services::{Route, routes};
use crate::tracing::announce_runtime;
use attachment::{Producer, lock};

/// Locks the locks of this room, and returns the guards.
pub fn locks() -> Vec<Box<dyn Any>> {
    vec![Box::new(attachment::lock()), Box::new(code_objects::lock()), opscope_producer::kernels_lock()]
}

/// Takes the table of a producer. [`connect_all`] sets its functions once tools are initialized.
pub fn attach(table: OfferedTable<'_>) -> c_int {
    table.attach(|table| {
        let mut producers = lock();
        let producer: &'static Producer = Box::leak(Box::new(Producer {
            number: producers.len() as u64,
            table,
            version: AtomicU64::new(0),
            is_connected: AtomicBool::new(false),
        }));
        producers.push(producer);
        producer
    })
}

/// Sets the functions of the producers that have none yet, and announces these producers to the tools. Called when
/// tools are initialized.
pub fn connect_all() {
    let producers = lock().clone();
    for producer in producers {
        if !producer.is_connected.swap(true, Ordering::AcqRel) {
            producer.connect();
        }
    }
}

/// Sets the producers' callbacks to those that the started contexts need.
pub fn update_all() {
    // Locked until all are set, so that the last update sees all changes. No tool is called meanwhile.
    let producers = lock();
    for producer in producers.iter().filter(|producer| producer.is_connected.load(Ordering::Acquire)) {
        producer.update();
    }
}

impl Consumer for Producer {
    fn runtime_initialized(&'static self, runtime: FromProducer<'_, Runtime>) {
        self.version.store(runtime.version_number, Ordering::Release);
        if self.is_connected.load(Ordering::Acquire) {
            announce_runtime(RUNTIME_NONE, runtime.version_number, self.number);
        }
    }

    fn model_loaded(&'static self, model: FromProducer<'_, Model>) {
        code_objects::model_loaded(self, &model);
    }

    fn model_unloaded(&'static self, model: FromProducer<'_, Model>) {
        code_objects::model_unloaded(self, &model);
    }

    fn plan_made(&'static self, plan: FromProducer<'_, Plan>) {
        code_objects::plan_made(self, &plan);
    }

    fn dispatch_begin(&'static self, dispatch: FromProducer<'_, Dispatch>) {
        dispatches::dispatch_begin(self, &dispatch);
    }

    fn dispatch_end(&'static self, dispatch: FromProducer<'_, Dispatch>) {
        dispatches::dispatch_end(self, &dispatch);
    }

    fn copy(&'static self, copy: FromProducer<'_, Copy>) {
        dispatches::copy(&copy);
    }

    fn allocation(&'static self, allocation: FromProducer<'_, Allocation>) {
        dispatches::allocation(&allocation);
    }
}

impl Producer {
    fn connect(&self) {
        {
            let _producers = lock();
            self.update();
        }
        let version = self.version.load(Ordering::Acquire);
        // A producer that is just being attached reports its version later.
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
        self.table.set(Wanted {
            // Models and plans are announced once only, so they are followed even while no context is started.
            model_loaded: names_kernels,
            model_unloaded: names_kernels,
            plan_made: names_kernels,
            dispatch_begin: begins,
            dispatch_end: ends,
            copy: copies,
            allocation: allocates,
            ..Wanted::default()
        });
    }
}
