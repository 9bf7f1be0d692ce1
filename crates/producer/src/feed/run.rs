use std::collections::HashMap;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use opscope_clock::Ticks;
use opscope_sys::Mutex;

use super::clock::Moment;
use super::model::LoadedPlan;
use crate::consumers::{ConsumerSet, Entries};
use crate::layout::{
    Iteration, OPSCOPE_COPY_DEVICE_TO_HOST, OPSCOPE_COPY_HOST_TO_DEVICE, OPSCOPE_MEMORY_ALLOCATE, OPSCOPE_MEMORY_FREE,
};
use crate::{consumers, layout};

/// A run, as consumers see it. Its end is reported when it is dropped.
///
/// The functions that a consumer has set when the run begins are called until its end; later changes affect only later
/// runs. The methods may be called from any thread.
pub struct RunFeed {
    plan: LoadedPlan,
    /// The consumers that want thread announcements.
    threads: ConsumerSet,
    entries: Box<[Entries]>,
    interest: Interest,
    id: u64,
    number: u64,
    /// The thread that it began on.
    thread: u64,
    begin: Moment,
    succeeded: AtomicBool,
    /// Memory that was allocated and not yet freed: bytes by address.
    held: Mutex<HashMap<u64, u64>>,
}

/// The calls that the consumers of a run want.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Interest {
    /// The beginning of dispatches.
    pub dispatch_begin: bool,
    /// The end of dispatches, with their times.
    pub dispatch_end: bool,
    /// Memory for tensors.
    pub allocation: bool,
}

/// A copy of all inputs or outputs of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Copied {
    /// The direction.
    pub direction: Direction,
    /// How many bytes.
    pub bytes: u64,
    /// How many tensors.
    pub tensors: u64,
}

/// The direction of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Inputs, into the engine's memory.
    HostToDevice,
    /// Outputs, out of the engine's memory.
    DeviceToHost,
}

/// An operation on memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryOperation {
    /// The engine holds memory for one more tensor.
    Allocate,
    /// The engine no longer holds it.
    Free,
}

static NEXT_RUN: AtomicU64 = AtomicU64::new(1);

impl RunFeed {
    /// Begins a run. First announces the model, the plan and the thread to consumers that have not received these
    /// announcements. `number` is the run's number as the program counts. Returns `None` if no consumer wants any
    /// report of the run.
    pub fn begin(plan: &LoadedPlan, number: u64) -> Option<Self> {
        Self::begin_by(plan, number, Moment::now)
    }

    /// As [`begin`](Self::begin), for a run that began at this time and is reported afterwards.
    pub fn begin_at(plan: &LoadedPlan, number: u64, begun: Ticks) -> Option<Self> {
        Self::begin_by(plan, number, || Moment::now().at(begun))
    }

    fn begin_by(plan: &LoadedPlan, number: u64, begin: impl FnOnce() -> Moment) -> Option<Self> {
        let count = consumers::count();
        if count == 0 {
            return None;
        }
        let (mut models, mut plans, mut threads): (ConsumerSet, ConsumerSet, ConsumerSet) = (0, 0, 0);
        let entries = consumers::attached().take(count).enumerate().map(|(number, consumer)| {
            let entries = consumer.entries();
            models |= ConsumerSet::from(entries.model_loaded.is_some()) << number;
            plans |= ConsumerSet::from(entries.plan_made.is_some()) << number;
            threads |= ConsumerSet::from(entries.thread_started.is_some()) << number;
            entries
        });
        let entries: Box<[Entries]> = entries.filter(Entries::wants_runs).collect();
        if entries.is_empty() {
            return None;
        }
        // A plan is announced after its model.
        if plan.model.announce_to(models) {
            plan.plan.announce_to(plans);
        }
        let interest = Interest {
            dispatch_begin: entries.iter().any(|entries| entries.dispatch_begin.is_some()),
            dispatch_end: entries.iter().any(|entries| entries.dispatch_end.is_some()),
            allocation: entries.iter().any(|entries| entries.allocation.is_some()),
        };
        let thread = super::enter_thread(threads);
        let begin = begin();
        let run = Self {
            plan: plan.clone(),
            threads,
            entries,
            interest,
            id: NEXT_RUN.fetch_add(1, Ordering::Relaxed),
            number,
            thread,
            begin,
            succeeded: AtomicBool::new(false),
            held: Mutex::default(),
        };
        let description = run.description(0, false);
        run.entries.iter().for_each(|entries| entries.call(entries.run_begin, &description));
        Some(run)
    }

    /// Returns the calls that the consumers want.
    pub fn interest(&self) -> Interest {
        self.interest
    }

    /// Reports that this thread is about to execute a kernel, given by its index in the plan.
    pub fn dispatch_begin(&self, kernel: usize, path: &[Iteration]) {
        self.dispatch_begin_at(kernel, path, Ticks::now());
    }

    /// As [`dispatch_begin`](Self::dispatch_begin), for a kernel whose execution began at this time.
    pub fn dispatch_begin_at(&self, kernel: usize, path: &[Iteration], start: Ticks) {
        let Some(dispatch) = self.dispatch(kernel, path, self.nanos(start), 0) else { return };
        self.entries.iter().for_each(|entries| entries.call(entries.dispatch_begin, &dispatch));
    }

    /// Reports that a kernel, given by its index in the plan, was executed, with the times that the engine measured.
    pub fn dispatch_end(&self, kernel: usize, path: &[Iteration], start: Ticks, end: Ticks) {
        let Some(dispatch) = self.dispatch(kernel, path, self.nanos(start), self.nanos(end)) else { return };
        self.entries.iter().for_each(|entries| entries.call(entries.dispatch_end, &dispatch));
    }

    /// Reports a copy, with the times when it began and ended.
    pub fn copied(&self, copied: Copied, start: Ticks, end: Ticks) {
        let copy = layout::Copy {
            size: size_of::<layout::Copy>(),
            model: self.plan.plan.description.model,
            plan: self.plan.plan.description.id,
            run: self.id,
            direction: match copied.direction {
                Direction::HostToDevice => OPSCOPE_COPY_HOST_TO_DEVICE,
                Direction::DeviceToHost => OPSCOPE_COPY_DEVICE_TO_HOST,
            },
            bytes: copied.bytes,
            tensors: copied.tensors,
            thread: super::announced_thread(self.threads),
            start: self.nanos(start),
            end: self.nanos(end),
        };
        self.entries.iter().for_each(|entries| entries.call(entries.copy, &copy));
    }

    /// Reports an operation on memory for a tensor. Memory that is still allocated when the run ends is reported as
    /// freed then.
    pub fn memory(&self, operation: MemoryOperation, address: u64, bytes: u64, at: Ticks) {
        if !self.interest.allocation {
            return;
        }
        let mut held = self.held.lock();
        match operation {
            MemoryOperation::Allocate => held.insert(address, bytes),
            MemoryOperation::Free => held.remove(&address),
        };
        drop(held);
        self.report_memory(operation, address, bytes, at);
    }

    fn report_memory(&self, operation: MemoryOperation, address: u64, bytes: u64, at: Ticks) {
        let allocation = layout::Allocation {
            size: size_of::<layout::Allocation>(),
            model: self.plan.plan.description.model,
            plan: self.plan.plan.description.id,
            run: self.id,
            operation: match operation {
                MemoryOperation::Allocate => OPSCOPE_MEMORY_ALLOCATE,
                MemoryOperation::Free => OPSCOPE_MEMORY_FREE,
            },
            address,
            bytes,
            thread: super::announced_thread(self.threads),
            time: self.nanos(at),
        };
        self.entries.iter().for_each(|entries| entries.call(entries.allocation, &allocation));
    }

    /// Sets whether the run succeeded. A run that ends without this call has failed.
    pub fn finished(&self, succeeded: bool) {
        self.succeeded.store(succeeded, Ordering::Relaxed);
    }

    fn nanos(&self, ticks: Ticks) -> u64 {
        self.begin.nanos(ticks)
    }

    #[inline]
    fn dispatch(&self, kernel: usize, path: &[Iteration], start: u64, end: u64) -> Option<layout::Dispatch> {
        Some(layout::Dispatch {
            size: size_of::<layout::Dispatch>(),
            model: self.plan.plan.description.model,
            plan: self.plan.plan.description.id,
            run: self.id,
            kernel: self.plan.plan.kernel(kernel)?,
            path: if path.is_empty() { ptr::null() } else { path.as_ptr() },
            path_length: path.len(),
            thread: super::announced_thread(self.threads),
            start,
            end,
        })
    }

    fn description(&self, end: u64, failed: bool) -> layout::Run {
        layout::Run {
            size: size_of::<layout::Run>(),
            id: self.id,
            number: self.number,
            model: self.plan.plan.description.model,
            plan: self.plan.plan.description.id,
            thread: self.thread,
            begin: self.begin.nanos,
            end,
            failed: failed.into(),
        }
    }
}

impl Drop for RunFeed {
    fn drop(&mut self) {
        let end = Ticks::now();
        let mut held: Vec<_> = self.held.get_mut().drain().collect();
        held.sort_unstable();
        for (address, bytes) in held {
            self.report_memory(MemoryOperation::Free, address, bytes, end);
        }
        let description = self.description(self.nanos(end), !self.succeeded.load(Ordering::Relaxed));
        self.entries.iter().for_each(|entries| entries.call(entries.run_end, &description));
    }
}
