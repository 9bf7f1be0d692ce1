//! The attached consumers, and calls of the functions that they have set.

use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use crate::layout::{
    Allocation, Copy, Dispatch, Entry, Model, NO_OPERATIONS, OPSCOPE_PRODUCER_VERSION, Plan, Run, Runtime, Table,
    Thread,
};

/// The largest number of consumers, more than any process needs. It is fixed so that the list needs no lock.
pub(crate) const MOST_CONSUMERS: usize = 16;

static CONSUMERS: [OnceLock<Consumer>; MOST_CONSUMERS] = [const { OnceLock::new() }; MOST_CONSUMERS];
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Returns the number of attached consumers. It never decreases.
#[inline]
pub(crate) fn count() -> usize {
    COUNT.load(Ordering::Acquire)
}

/// Returns the attached consumers, in the order in which they were attached.
pub(crate) fn attached() -> impl Iterator<Item = &'static Consumer> {
    CONSUMERS[..count()].iter().filter_map(OnceLock::get)
}

/// A set of consumers: bit N stands for consumer number N in the order of attachment, from 0.
pub(crate) type ConsumerSet = u32;

const _: () = assert!(MOST_CONSUMERS <= ConsumerSet::BITS as usize);

/// Returns the consumers of a set.
pub(crate) fn of(set: ConsumerSet) -> impl Iterator<Item = &'static Consumer> {
    attached().enumerate().filter(move |(number, _)| set >> number & 1 != 0).map(|(_, consumer)| consumer)
}

/// Returns the consumers whose functions currently fulfil a condition.
pub(crate) fn wanting(wants: impl Fn(&Entries) -> bool) -> ConsumerSet {
    let bit = |(number, consumer): (usize, &Consumer)| ConsumerSet::from(wants(&consumer.entries())) << number;
    attached().enumerate().map(bit).fold(0, |set, bit| set | bit)
}

/// Adds a consumer. The caller ensures that only one thread at a time calls this. Returns `None` if there are too many.
pub(crate) fn add(consumer: Consumer) -> Option<&'static Consumer> {
    let index = count();
    let added = CONSUMERS.get(index)?.get_or_init(|| consumer);
    COUNT.store(index + 1, Ordering::Release);
    Some(added)
}

/// A consumer that has its own table, or is being offered one.
pub(crate) struct Consumer {
    pub table: &'static SharedTable,
    /// The address of its `opscope_attach_producer`, which identifies it.
    pub attach: usize,
}

/// A table that a consumer writes to while the producer reads it.
#[repr(transparent)]
pub(crate) struct SharedTable(UnsafeCell<Table>);

// SAFETY: once the table was passed on, its functions and its consumer pointer are only accessed atomically
// (`Entries::of`), and the other fields not at all.
unsafe impl Sync for SharedTable {}
// SAFETY: as above; no field is bound to a thread.
unsafe impl Send for SharedTable {}

impl SharedTable {
    /// Returns the table as C receives it.
    pub fn as_ptr(&self) -> *mut Table {
        self.0.get()
    }
}

/// The functions that a consumer has set at some point in time; `None` for those that do nothing.
#[derive(Clone, Copy)]
pub(crate) struct Entries {
    consumer: *mut c_void,
    pub runtime_initialized: Option<Entry<Runtime>>,
    pub model_loaded: Option<Entry<Model>>,
    pub model_unloaded: Option<Entry<Model>>,
    pub plan_made: Option<Entry<Plan>>,
    pub thread_started: Option<Entry<Thread>>,
    pub run_begin: Option<Entry<Run>>,
    pub run_end: Option<Entry<Run>>,
    pub dispatch_begin: Option<Entry<Dispatch>>,
    pub dispatch_end: Option<Entry<Dispatch>>,
    pub copy: Option<Entry<Copy>>,
    pub allocation: Option<Entry<Allocation>>,
}

// SAFETY: a consumer guarantees that its functions may be called with its pointer from any thread, and by several
// threads at once.
unsafe impl Send for Entries {}
// SAFETY: as above.
unsafe impl Sync for Entries {}

impl Consumer {
    /// Makes the table of a consumer. It lives as long as the process, because a consumer may keep a pointer to it.
    pub fn new(attach: usize) -> Self {
        let Table { runtime_initialized, model_loaded, model_unloaded, plan_made, thread_started, .. } =
            NO_OPERATIONS.0;
        let Table { run_begin, run_end, dispatch_begin, dispatch_end, copy, allocation, .. } = NO_OPERATIONS.0;
        let table = Table {
            size: size_of::<Table>(),
            version: OPSCOPE_PRODUCER_VERSION,
            consumer: ptr::null_mut(),
            runtime_initialized,
            model_loaded,
            model_unloaded,
            plan_made,
            thread_started,
            run_begin,
            run_end,
            dispatch_begin,
            dispatch_end,
            copy,
            allocation,
        };
        Self { table: Box::leak(Box::new(SharedTable(UnsafeCell::new(table)))), attach }
    }

    /// Returns the functions that are currently set.
    pub fn entries(&self) -> Entries {
        let table = self.table.as_ptr();
        macro_rules! entries {
            ($($field:ident),+) => {{
                // SAFETY: the table lives as long as the process. Consumers store to its functions atomically, or
                // before they return from `opscope_attach_producer`, which happens before every call of this function.
                $(let $field = unsafe { set(&raw mut (*table).$field, NO_OPERATIONS.0.$field) };)+
                // SAFETY: as above. The functions were loaded first, because a consumer stores its pointer before them.
                let consumer = unsafe { AtomicPtr::from_ptr(&raw mut (*table).consumer) }.load(Ordering::Acquire);
                Entries { consumer, $($field),+ }
            }};
        }
        // A consumer sets its functions from the first to the last, so they are loaded in the opposite order. If a
        // function is found to be set, the announcements that it relies on are then set, too. It sets dispatch_end
        // before dispatch_begin, so these two are loaded in that opposite order.
        entries!(
            allocation,
            copy,
            dispatch_begin,
            dispatch_end,
            run_end,
            run_begin,
            thread_started,
            plan_made,
            model_unloaded,
            model_loaded,
            runtime_initialized
        )
    }
}

/// Returns the function in a field of a table, or `None` if it does nothing. A consumer must not store NULL, but if it
/// does, the producer does not crash.
///
/// # Safety
/// `field` is valid, and only written atomically meanwhile. It contains a function of this type, or null.
unsafe fn set<T>(field: *mut Option<Entry<T>>, nothing: Option<Entry<T>>) -> Option<Entry<T>> {
    let nothing = nothing.map_or(ptr::null_mut(), |nothing| nothing as *mut c_void);
    // SAFETY: an `Option` of a function pointer has the layout of a pointer; the caller guarantees the rest.
    let function = unsafe { AtomicPtr::from_ptr(field.cast::<*mut c_void>()) }.load(Ordering::Acquire);
    if function.is_null() || function == nothing {
        return None;
    }
    // SAFETY: the pointer is not null, and the caller guarantees that it is a function of this type.
    Some(unsafe { std::mem::transmute::<*mut c_void, Entry<T>>(function) })
}

impl Entries {
    /// Calls a function of the consumer, if it has set it.
    #[inline]
    pub fn call<T>(&self, entry: Option<Entry<T>>, argument: &T) {
        if let Some(entry) = entry {
            // SAFETY: the consumer set the function for these arguments and its own pointer, and an attached library is
            // never unloaded. The structs point to memory that `feed` owns, and that lives as long as their comments
            // say.
            unsafe { entry(self.consumer, argument) };
        }
    }

    /// Returns whether this consumer wants any report of a run.
    pub fn wants_runs(&self) -> bool {
        let announcements = self.model_loaded.is_some() || self.plan_made.is_some() || self.thread_started.is_some();
        let runs =
            self.run_begin.is_some() || self.run_end.is_some() || self.copy.is_some() || self.allocation.is_some();
        announcements || runs || self.dispatch_begin.is_some() || self.dispatch_end.is_some()
    }
}
