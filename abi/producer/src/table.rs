use std::ffi::c_void;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::layout::{
    Allocation, Copy, Dispatch, Entry, Model, OPSCOPE_PRODUCER_VERSION, Plan, Run, Runtime, Table, Thread,
};

/// A producer's table, as a consumer keeps it. It lives as long as the process.
pub struct ProducerTable {
    table: *mut Table,
    /// What the table had at first: functions that do nothing.
    nothing: Table,
}

// SAFETY: the table lives as long as the process, and its functions are only written to atomically.
unsafe impl Send for ProducerTable {}
// SAFETY: as above.
unsafe impl Sync for ProducerTable {}

/// What a consumer wants to be called for. `None` stands for nothing.
#[derive(Default, Clone, Copy)]
#[allow(missing_docs, reason = "they have the names and meanings of the table's")]
pub struct Functions {
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

impl ProducerTable {
    /// Takes the table that `opscope_attach_producer` was called with. Returns `None` if its version is another one.
    ///
    /// # Safety
    /// It is such a table, or NULL.
    pub unsafe fn new(table: *mut Table) -> Option<Self> {
        if table.is_null() {
            return None;
        }
        // SAFETY: it is not NULL, and the first fields of every table are these.
        let (size, version) = unsafe { ((*table).size, (*table).version) };
        if version != OPSCOPE_PRODUCER_VERSION || size < size_of::<Table>() {
            return None;
        }
        // SAFETY: the table has all fields, and consists of numbers and pointers.
        Some(Self { table, nothing: unsafe { table.read() } })
    }

    /// Sets the first argument of all functions, and the one that is called once, after the consumer was attached.
    ///
    /// # Safety
    /// It is called before `opscope_attach_producer` returns.
    pub unsafe fn begin(&self, consumer: *mut c_void, runtime_initialized: Entry<Runtime>) {
        // SAFETY: until then a consumer may write to its table.
        unsafe {
            (*self.table).consumer = consumer;
            (*self.table).runtime_initialized = Some(runtime_initialized);
        }
    }

    /// Sets what the producer calls, from its next run on.
    pub fn set(&self, functions: &Functions) {
        macro_rules! set {
            ($($field:ident)+) => {
                $(
                    let function = functions.$field.or(self.nothing.$field);
                    let function = function.map_or(std::ptr::null_mut(), |function| function as *mut c_void);
                    // SAFETY: an `Option` of a function pointer has the layout of a pointer. The producer loads the field
                    // atomically.
                    unsafe { AtomicPtr::from_ptr((&raw mut (*self.table).$field).cast()) }
                        .store(function, Ordering::Release);
                )+
            };
        }
        set!(model_loaded model_unloaded plan_made thread_started run_begin run_end);
        set!(dispatch_begin dispatch_end copy allocation);
    }
}
