use std::ffi::c_int;

use opscope_producer::layout::{Copy, Dispatch, Model, Plan};
use opscope_producer::{
    Consumer, FromProducer, OfferedTable, ProducerTable, Wanted, forget_plan, kernel_number, number_kernels,
};
use opscope_sys::{Mutex, MutexGuard};

use crate::buffers::{Activity, Dispatch as StoredDispatch, next_number};
use crate::kinds::{OPS_COPY, OPS_DISPATCH};
use crate::sessions::{put_slowly, targets};

/// A producer that attached itself. It lives as long as the process.
pub struct Producer {
    number: u64,
    table: ProducerTable<Self>,
    /// The plans of each model, which are removed with it.
    plans: Mutex<Vec<(u64, u64)>>,
}

static PRODUCERS: Mutex<Vec<&'static Producer>> = Mutex::new(Vec::new());

pub(super) fn lock() -> MutexGuard<'static, Vec<&'static Producer>> {
    PRODUCERS.lock()
}

/// Takes the table of a producer. While no session wants dispatches or activities, runs cost nothing.
pub fn attach(table: OfferedTable<'_>) -> c_int {
    let mut producers = lock();
    table.attach(|table| {
        let number = producers.len() as u64;
        let producer: &'static Producer = Box::leak(Box::new(Producer { number, table, plans: Mutex::default() }));
        producers.push(producer);
        producer.follow_targets();
        producer
    })
}

/// Sets the callbacks of all producers.
pub fn follow_targets() {
    // The lock is held, as above. So of two threads, the last one decides, and it sees what the session wants now.
    lock().iter().for_each(|producer| producer.follow_targets());
}

impl Producer {
    fn plans(&self) -> MutexGuard<'_, Vec<(u64, u64)>> {
        self.plans.lock()
    }

    fn follow_targets(&self) {
        let dispatches = targets::DISPATCHES.get().is_some();
        let activities = targets::ACTIVITIES.get().is_some();
        self.table.set(Wanted {
            // Plans are announced once only, so they are followed even while no session is active.
            model_unloaded: true,
            plan_made: true,
            dispatch_end: dispatches || activities,
            copy: activities,
            ..Wanted::default()
        });
    }
}

impl Consumer for Producer {
    fn plan_made(&'static self, plan: FromProducer<'_, Plan>) {
        number_kernels(self.number, &plan);
        self.plans().push((plan.model, plan.id));
    }

    fn model_unloaded(&'static self, model: FromProducer<'_, Model>) {
        self.plans().retain(|&(of, plan)| {
            if of == model.id {
                forget_plan(self.number, plan);
            }
            of != model.id
        });
    }

    fn dispatch_end(&'static self, dispatch: FromProducer<'_, Dispatch>) {
        let kernel = dispatch.kernel();
        let &Dispatch { start: begin, end, thread, plan, .. } = &*dispatch;
        // The number that two records share has to be chosen now.
        let number = if targets::ACTIVITIES.get().is_some() { next_number() } else { 0 };
        let id = kernel_number(self.number, plan, kernel.index);
        if let Some(buffer) = targets::DISPATCHES.get() {
            let grid = kernel.output_shape().iter().copied().fold(1, u64::saturating_mul);
            let stored = StoredDispatch { check: 0, kernel: id, begin, end, grid, number, thread };
            stored.put(buffer, |form, bytes| put_slowly(buffer, form, bytes));
        }
        put_activity(OPS_DISPATCH, begin, end, number, thread, id);
    }

    fn copy(&'static self, copy: FromProducer<'_, Copy>) {
        put_activity(OPS_COPY, copy.start, copy.end, next_number(), copy.thread, 0);
    }
}

fn put_activity(operation: u32, begin: u64, end: u64, correlation: u64, thread: u64, kernel: u64) {
    let Some((buffer, domain)) = targets::ACTIVITIES.get() else { return };
    let domain = domain.cast_unsigned();
    let stored = Activity { check: 0, begin, end, domain, operation, correlation, thread, kernel };
    stored.put(buffer, |form, bytes| put_slowly(buffer, form, bytes));
}
