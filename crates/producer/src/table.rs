use std::ffi::{CStr, c_char, c_int, c_void};
use std::marker::PhantomData;
use std::ops::Deref;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::layout::{
    Allocation, Copy, Dispatch, Kernel, Model, OPSCOPE_ATTACH_WRONG_VERSION, OPSCOPE_ATTACHED,
    OPSCOPE_PRODUCER_VERSION, Plan, Run, Runtime, Table, Thread,
};

/// NULL, or the table that a producer offers: the argument of `opscope_attach_producer`.
///
/// The producer guarantees that the table has as many bytes as its size says, lives as long as the process, and may be
/// written before that function returns.
#[repr(transparent)]
pub struct OfferedTable<'a>(*mut Table, PhantomData<&'a mut Table>);

/// A struct that a producer passes.
///
/// The producer guarantees that everything the struct points to exists, as its fields say, during the call of the
/// consumer's function.
pub struct FromProducer<'a, T>(&'a T);

/// The functions of a consumer. Several threads may call them at once.
#[allow(missing_docs, reason = "they have the names and meanings of the table's")]
pub trait Consumer: Sync + 'static {
    fn runtime_initialized(&'static self, _runtime: FromProducer<'_, Runtime>) {}
    fn model_loaded(&'static self, _model: FromProducer<'_, Model>) {}
    fn model_unloaded(&'static self, _model: FromProducer<'_, Model>) {}
    fn plan_made(&'static self, _plan: FromProducer<'_, Plan>) {}
    fn thread_started(&'static self, _thread: FromProducer<'_, Thread>) {}
    fn run_begin(&'static self, _run: FromProducer<'_, Run>) {}
    fn run_end(&'static self, _run: FromProducer<'_, Run>) {}
    fn dispatch_begin(&'static self, _dispatch: FromProducer<'_, Dispatch>) {}
    fn dispatch_end(&'static self, _dispatch: FromProducer<'_, Dispatch>) {}
    fn copy(&'static self, _copy: FromProducer<'_, Copy>) {}
    fn allocation(&'static self, _allocation: FromProducer<'_, Allocation>) {}
}

/// The functions that a consumer wants to be called.
#[derive(Default, Clone, Copy)]
#[allow(missing_docs, reason = "they have the names and meanings of the table's functions")]
pub struct Wanted {
    pub model_loaded: bool,
    pub model_unloaded: bool,
    pub plan_made: bool,
    pub thread_started: bool,
    pub run_begin: bool,
    pub run_end: bool,
    pub dispatch_begin: bool,
    pub dispatch_end: bool,
    pub copy: bool,
    pub allocation: bool,
}

/// A producer's table, as its consumer keeps it. It lives as long as the process.
pub struct ProducerTable<C: 'static> {
    table: *mut Table,
    /// The initial content of the table: functions that do nothing.
    nothing: Table,
    consumer: PhantomData<fn(&'static C)>,
}

// SAFETY: the table lives as long as the process, and its functions are only written atomically.
unsafe impl<C: 'static> Send for ProducerTable<C> {}
// SAFETY: as above.
unsafe impl<C: 'static> Sync for ProducerTable<C> {}

impl OfferedTable<'_> {
    /// Takes a pointer from a producer.
    ///
    /// # Safety
    /// It satisfies the guarantee of this type.
    pub unsafe fn from_ptr(table: *mut Table) -> Self {
        Self(table, PhantomData)
    }

    /// Accepts the table, if it has the version of this crate. `make` makes the consumer, which keeps the table.
    /// Returns the result of `opscope_attach_producer`. The producer then calls the consumer's `runtime_initialized`,
    /// and later the functions that the consumer sets.
    pub fn attach<C: Consumer>(self, make: impl FnOnce(ProducerTable<C>) -> &'static C) -> c_int {
        let table = self.0;
        if table.is_null() {
            return OPSCOPE_ATTACH_WRONG_VERSION;
        }
        // SAFETY: it is not NULL, and the first fields of every table are these.
        let (size, version) = unsafe { ((*table).size, (*table).version) };
        if version != OPSCOPE_PRODUCER_VERSION || size < size_of::<Table>() {
            return OPSCOPE_ATTACH_WRONG_VERSION;
        }
        // SAFETY: the table has all fields, and consists of numbers and pointers.
        let nothing = unsafe { table.read() };
        let consumer = make(ProducerTable { table, nothing, consumer: PhantomData });
        // SAFETY: a consumer may write to its table until `opscope_attach_producer` returns, which this value does not
        // outlive.
        unsafe {
            (*table).consumer = ptr::from_ref(consumer).cast_mut().cast();
            (*table).runtime_initialized = Some(entries::runtime_initialized::<C>);
        }
        OPSCOPE_ATTACHED
    }
}

impl<C: Consumer> ProducerTable<C> {
    /// Sets the functions that the producer calls. Takes effect with the next run.
    pub fn set(&self, wanted: Wanted) {
        macro_rules! set {
            ($($field:ident)+) => {
                $(
                    let function = if wanted.$field { Some(entries::$field::<C> as _) } else { self.nothing.$field };
                    let function = function.map_or(ptr::null_mut(), |function| function as *mut c_void);
                    // SAFETY: an `Option` of a function pointer has the layout of a pointer. The producer loads the
                    // field atomically.
                    unsafe { AtomicPtr::from_ptr((&raw mut (*self.table).$field).cast()) }
                        .store(function, Ordering::Release);
                )+
            };
        }
        set!(model_loaded model_unloaded plan_made thread_started run_begin run_end);
        // No run may be told of dispatches that begin and not of their ends: it would have ids that no record has.
        if wanted.dispatch_begin {
            set!(dispatch_end dispatch_begin);
        } else {
            set!(dispatch_begin dispatch_end);
        }
        set!(copy allocation);
    }
}

/// The functions in the table, which call the methods of a consumer.
mod entries {
    use super::*;

    macro_rules! entries {
        ($($name:ident($type:ty))+) => {
            $(
                pub unsafe extern "C" fn $name<C: Consumer>(consumer: *mut c_void, told: *const $type) {
                    // SAFETY: a producer passes the consumer that `attach` has set, which lives as long as the process,
                    // and a struct of this type.
                    let (consumer, told) = unsafe { (&*consumer.cast::<C>(), FromProducer(&*told)) };
                    consumer.$name(told);
                }
            )+
        };
    }
    entries! {
        runtime_initialized(Runtime) model_loaded(Model) model_unloaded(Model) plan_made(Plan) thread_started(Thread)
        run_begin(Run) run_end(Run) dispatch_begin(Dispatch) dispatch_end(Dispatch) copy(Copy) allocation(Allocation)
    }
}

impl<T> Deref for FromProducer<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0
    }
}

impl<'a, T> FromProducer<'a, T> {
    /// Returns the text that a field points to.
    fn text(&self, field: *const c_char) -> &'a CStr {
        // SAFETY: the producer guarantees that its texts end with NUL, and live as long as the struct.
        unsafe { CStr::from_ptr(field) }
    }

    /// Returns the array that a field points to; its count is in another field.
    fn array<I>(&self, field: *const I, count: usize) -> &'a [I] {
        // SAFETY: the producer guarantees that there are this many elements, and that they live as long as the struct.
        if field.is_null() || count == 0 { &[] } else { unsafe { std::slice::from_raw_parts(field, count) } }
    }
}

impl<'a> FromProducer<'a, Model> {
    /// Returns the path of its file.
    pub fn path(&self) -> &'a CStr {
        self.text(self.0.path)
    }
}

impl<'a> FromProducer<'a, Plan> {
    /// Returns its kernels.
    pub fn kernels(&self) -> impl Iterator<Item = FromProducer<'a, Kernel>> + use<'a> {
        // SAFETY: each of these pointers in a plan leads to a kernel.
        self.array(self.0.kernels, self.0.kernel_count).iter().map(|kernel| FromProducer(unsafe { &**kernel }))
    }
}

impl<'a> FromProducer<'a, Kernel> {
    /// Returns the name of the operator that its time counts for, or the engine's own name if there is none.
    pub fn name(&self) -> &'a CStr {
        self.text(self.0.name)
    }

    /// Returns the sizes of its first output's dimensions.
    pub fn output_shape(&self) -> &'a [u64] {
        self.array(self.0.output_shape, self.0.output_rank)
    }
}

impl<'a> FromProducer<'a, Dispatch> {
    /// Returns its kernel.
    pub fn kernel(&self) -> FromProducer<'a, Kernel> {
        // SAFETY: a dispatch has a kernel.
        FromProducer(unsafe { &*self.0.kernel })
    }
}
