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
/// The producer promises that it has as many bytes as its size says, lives as long as the process, and may be written
/// to before that function returns.
#[repr(transparent)]
pub struct OfferedTable<'a>(*mut Table, PhantomData<&'a mut Table>);

/// A struct that a producer passes.
///
/// The producer promises that what the struct points to is there, as its fields say, while the consumer's function is
/// called.
pub struct Told<'a, T>(&'a T);

/// What a consumer does with what a producer tells it. Several threads may call its functions at once.
#[allow(missing_docs, reason = "they have the names and meanings of the table's")]
pub trait Consumer: Sync + 'static {
    fn runtime_initialized(&'static self, _runtime: Told<'_, Runtime>) {}
    fn model_loaded(&'static self, _model: Told<'_, Model>) {}
    fn model_unloaded(&'static self, _model: Told<'_, Model>) {}
    fn plan_made(&'static self, _plan: Told<'_, Plan>) {}
    fn thread_started(&'static self, _thread: Told<'_, Thread>) {}
    fn run_begin(&'static self, _run: Told<'_, Run>) {}
    fn run_end(&'static self, _run: Told<'_, Run>) {}
    fn dispatch_begin(&'static self, _dispatch: Told<'_, Dispatch>) {}
    fn dispatch_end(&'static self, _dispatch: Told<'_, Dispatch>) {}
    fn copy(&'static self, _copy: Told<'_, Copy>) {}
    fn allocation(&'static self, _allocation: Told<'_, Allocation>) {}
}

/// What a consumer wants to be called for.
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

/// A producer's table, as a consumer keeps it. It lives as long as the process.
pub struct ProducerTable<C: 'static> {
    table: *mut Table,
    /// What the table had at first: functions that do nothing.
    nothing: Table,
    consumer: PhantomData<fn(&'static C)>,
}

// SAFETY: the table lives as long as the process, and its functions are only written to atomically.
unsafe impl<C: 'static> Send for ProducerTable<C> {}
// SAFETY: as above.
unsafe impl<C: 'static> Sync for ProducerTable<C> {}

impl OfferedTable<'_> {
    /// Takes a pointer of a producer.
    ///
    /// # Safety
    /// It is what this type promises.
    pub unsafe fn from_ptr(table: *mut Table) -> Self {
        Self(table, PhantomData)
    }

    /// Takes the table, if its version is this one. `make` keeps it for a new consumer. Returns what
    /// `opscope_attach_producer` returns. The consumer is called once it is attached, with the runtime, and then for
    /// what it sets.
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
        // SAFETY: until `opscope_attach_producer` returns, which this type does not outlive, a consumer may write to
        // its table.
        unsafe {
            (*table).consumer = ptr::from_ref(consumer).cast_mut().cast();
            (*table).runtime_initialized = Some(entries::runtime_initialized::<C>);
        }
        OPSCOPE_ATTACHED
    }
}

impl<C: Consumer> ProducerTable<C> {
    /// Sets what the producer calls, from its next run on.
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
        set!(dispatch_begin dispatch_end copy allocation);
    }
}

/// The functions of the table, which call those of a consumer.
mod entries {
    use super::*;

    macro_rules! entries {
        ($($name:ident($type:ty))+) => {
            $(
                pub unsafe extern "C" fn $name<C: Consumer>(consumer: *mut c_void, told: *const $type) {
                    // SAFETY: a producer passes the consumer that `attach` set, which lives as long as the process, and
                    // such a struct.
                    let (consumer, told) = unsafe { (&*consumer.cast::<C>(), Told(&*told)) };
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

impl<T> Deref for Told<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0
    }
}

impl<'a, T> Told<'a, T> {
    /// Returns a text that a field leads to.
    fn text(&self, field: *const c_char) -> &'a CStr {
        // SAFETY: the producer promises that its texts end with NUL, and live as long as the struct.
        unsafe { CStr::from_ptr(field) }
    }

    /// Returns an array that a field leads to, with the count of another.
    fn array<I>(&self, field: *const I, count: usize) -> &'a [I] {
        // SAFETY: the producer promises that there are so many, and that they live as long as the struct.
        if field.is_null() || count == 0 { &[] } else { unsafe { std::slice::from_raw_parts(field, count) } }
    }
}

impl<'a> Told<'a, Model> {
    /// Returns the path of its file.
    pub fn path(&self) -> &'a CStr {
        self.text(self.0.path)
    }
}

impl<'a> Told<'a, Plan> {
    /// Returns its kernels.
    pub fn kernels(&self) -> impl Iterator<Item = Told<'a, Kernel>> + use<'a> {
        // SAFETY: each pointer of a plan leads to a kernel.
        self.array(self.0.kernels, self.0.kernel_count).iter().map(|kernel| Told(unsafe { &**kernel }))
    }
}

impl<'a> Told<'a, Kernel> {
    /// Returns its name.
    pub fn name(&self) -> &'a CStr {
        self.text(self.0.name)
    }

    /// Returns the sizes of its output's dimensions.
    pub fn output_shape(&self) -> &'a [u64] {
        self.array(self.0.output_shape, self.0.output_rank)
    }
}

impl<'a> Told<'a, Dispatch> {
    /// Returns its kernel.
    pub fn kernel(&self) -> Told<'a, Kernel> {
        // SAFETY: a dispatch has a kernel.
        Told(unsafe { &*self.0.kernel })
    }
}
