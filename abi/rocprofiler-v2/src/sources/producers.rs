use std::ffi::{c_int, c_void};
use std::sync::{Mutex, MutexGuard, PoisonError};

use opscope_producer::layout::{
    Copy, Dispatch, Model, OPSCOPE_ATTACH_WRONG_VERSION, OPSCOPE_ATTACHED, Plan, Runtime, Table,
};
use opscope_producer::{Functions, ProducerTable, forget_plan, kernel_number, number_kernels};

use crate::buffers::{Activity, Dispatch as StoredDispatch, next_number};
use crate::kinds::{OPS_COPY, OPS_DISPATCH};
use crate::sessions::{put_slowly, targets};

/// A producer that attached itself. It lives as long as the process.
pub struct Producer {
    number: u64,
    table: ProducerTable,
    /// The plans of each model, to forget them with it.
    plans: Mutex<Vec<(u64, u64)>>,
}

static PRODUCERS: Mutex<Vec<&'static Producer>> = Mutex::new(Vec::new());

pub(super) fn lock() -> MutexGuard<'static, Vec<&'static Producer>> {
    PRODUCERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Called by a producer, with the table of what it calls. While no session wants dispatches or activities, runs cost nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opscope_attach_producer(table: *mut Table) -> c_int {
    // SAFETY: as the producer promises.
    let Some(table) = (unsafe { ProducerTable::new(table) }) else { return OPSCOPE_ATTACH_WRONG_VERSION };
    let mut producers = lock();
    let number = producers.len() as u64;
    let producer: &'static Producer = Box::leak(Box::new(Producer { number, table, plans: Mutex::default() }));
    producers.push(producer);
    // SAFETY: the producer is being attached.
    unsafe { producer.table.begin(std::ptr::from_ref(producer).cast_mut().cast(), runtime_initialized) };
    producer.follow_targets();
    OPSCOPE_ATTACHED
}

/// Sets what all producers call.
pub fn follow_targets() {
    // Under the lock, as above: of two threads, the last one decides, and it knows what the session wants now.
    lock().iter().for_each(|producer| producer.follow_targets());
}

impl Producer {
    /// # Safety
    /// `consumer` is what a function of the table got.
    unsafe fn of<'a>(consumer: *mut c_void) -> &'a Self {
        // SAFETY: it is the producer that was set, which lives as long as the process.
        unsafe { &*consumer.cast::<Self>() }
    }

    fn plans(&self) -> MutexGuard<'_, Vec<(u64, u64)>> {
        self.plans.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn follow_targets(&self) {
        let dispatches = targets::DISPATCHES.get().is_some();
        let activities = targets::ACTIVITIES.get().is_some();
        self.table.set(&Functions {
            // Plans are announced once, so they are followed while no session is active, too.
            model_unloaded: Some(model_unloaded),
            plan_made: Some(plan_made),
            dispatch_end: (dispatches || activities).then_some(dispatch_end),
            copy: activities.then_some(copy),
            ..Functions::default()
        });
    }
}

unsafe extern "C" fn runtime_initialized(_consumer: *mut c_void, _runtime: *const Runtime) {}

unsafe extern "C" fn plan_made(consumer: *mut c_void, plan: *const Plan) {
    // SAFETY: a producer passes what was set, and a plan.
    let (producer, plan) = unsafe { (Producer::of(consumer), &*plan) };
    // SAFETY: as above.
    unsafe { number_kernels(producer.number, plan) };
    producer.plans().push((plan.model, plan.id));
}

unsafe extern "C" fn model_unloaded(consumer: *mut c_void, model: *const Model) {
    // SAFETY: as above.
    let (producer, model) = unsafe { (Producer::of(consumer), (*model).id) };
    producer.plans().retain(|&(of, plan)| {
        if of == model {
            forget_plan(producer.number, plan);
        }
        of != model
    });
}

unsafe extern "C" fn dispatch_end(consumer: *mut c_void, dispatch: *const Dispatch) {
    // SAFETY: a producer passes what was set, and a dispatch with its kernel.
    let (producer, dispatch, kernel) = unsafe { (Producer::of(consumer), &*dispatch, &*(*dispatch).kernel) };
    let &Dispatch { start: begin, end, thread, plan, .. } = dispatch;
    // What two records share has to be known now.
    let number = if targets::ACTIVITIES.get().is_some() { next_number() } else { 0 };
    let id = kernel_number(producer.number, plan, kernel.index);
    if let Some(buffer) = targets::DISPATCHES.get() {
        // SAFETY: a producer's kernel has as many sizes as its rank.
        let sizes = (0..kernel.output_rank).map(|index| unsafe { *kernel.output_shape.add(index) });
        let grid = sizes.fold(1, u64::saturating_mul);
        let stored = StoredDispatch { check: 0, kernel: id, begin, end, grid, number, thread };
        stored.put(buffer, |form, bytes| put_slowly(buffer, form, bytes));
    }
    put_activity(OPS_DISPATCH, begin, end, number, thread, id);
}

unsafe extern "C" fn copy(_consumer: *mut c_void, copy: *const Copy) {
    // SAFETY: a producer passes a copy.
    let &Copy { start, end, thread, .. } = unsafe { &*copy };
    put_activity(OPS_COPY, start, end, next_number(), thread, 0);
}

fn put_activity(operation: u32, begin: u64, end: u64, correlation: u64, thread: u64, kernel: u64) {
    let Some((buffer, domain)) = targets::ACTIVITIES.get() else { return };
    let domain = domain.cast_unsigned();
    let stored = Activity { check: 0, begin, end, domain, operation, correlation, thread, kernel };
    stored.put(buffer, |form, bytes| put_slowly(buffer, form, bytes));
}
