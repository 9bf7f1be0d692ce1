//! An event for the client, independent of the client's generation, and the function of the client that is called when
//! events wait.

use std::sync::Arc;

use opscope_border::{InOut, UserData, call_program};
use opscope_debug::ModelId;
use opscope_sys::Mutex;

use super::grids::{Grid, Module};
use crate::LIBRARY;
use crate::border::{Rule, inside};
use crate::layout::device::{CallbackData, CallbackData40, CallbackData41};
use crate::layout::numbers::{Kind, QueueType, Status};

/// An event for the client, independent of the client's generation.
#[derive(Clone)]
pub struct Event {
    pub case: Case,
    /// The model that it is about; 0 if it is about none.
    pub model: ModelId,
    /// The thread of the program that raised it; 0 if there is none.
    pub thread: u32,
}

/// What happened.
#[derive(Clone)]
pub enum Case {
    ImageLoaded(Arc<Module>),
    ImageUnloaded(Arc<Module>),
    FunctionsLoaded { count: u32 },
    KernelReady(Grid),
    KernelFinished(Grid),
    ContextCreate,
    ContextDestroy,
    ContextPush,
    ContextPop,
    AllDevicesSuspended { broken: u64, faulted: u64 },
    AttachComplete,
    DetachComplete,
    Timeout,
    InternalError(Status),
}

impl Event {
    /// Makes an event that is about no model.
    pub fn of_program(case: Case) -> Self {
        Self { case, model: ModelId(0), thread: 0 }
    }

    pub fn kind(&self) -> Kind {
        match self.case {
            Case::ImageLoaded(_) => Kind::ElfImageLoaded,
            Case::ImageUnloaded(_) => Kind::ElfImageUnloaded,
            Case::FunctionsLoaded { .. } => Kind::FunctionsLoaded,
            Case::KernelReady(_) => Kind::KernelReady,
            Case::KernelFinished(_) => Kind::KernelFinished,
            Case::ContextCreate => Kind::CtxCreate,
            Case::ContextDestroy => Kind::CtxDestroy,
            Case::ContextPush => Kind::CtxPush,
            Case::ContextPop => Kind::CtxPop,
            Case::AllDevicesSuspended { .. } => Kind::AllDevicesSuspended,
            Case::AttachComplete => Kind::AttachComplete,
            Case::DetachComplete => Kind::DetachComplete,
            Case::Timeout => Kind::Timeout,
            Case::InternalError(_) => Kind::InternalError,
        }
    }

    /// Returns the queue that it waits in. The queue depends only on the kind.
    pub fn queue(&self) -> QueueType {
        match self.case {
            Case::KernelFinished(_) | Case::Timeout => QueueType::Async,
            Case::ImageLoaded(_)
            | Case::ImageUnloaded(_)
            | Case::FunctionsLoaded { .. }
            | Case::KernelReady(_)
            | Case::ContextCreate
            | Case::ContextDestroy
            | Case::ContextPush
            | Case::ContextPop
            | Case::AllDevicesSuspended { .. }
            | Case::AttachComplete
            | Case::DetachComplete
            | Case::InternalError(_) => QueueType::Sync,
        }
    }
}

/// The generations of clients. Each has its own structure for events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Generation {
    Cuda30,
    Cuda32,
    Cuda42,
    Cuda50,
    Cuda55,
    Cuda60,
}

impl Generation {
    /// Returns whether clients of this generation take the events of both queues with the same function.
    pub fn has_one_queue(self) -> bool {
        self <= Self::Cuda42
    }

    /// Returns whether clients of this generation know a kind of events. They never get other kinds.
    pub fn knows(self, kind: Kind) -> bool {
        let since = match kind {
            Kind::ElfImageLoaded | Kind::KernelReady | Kind::KernelFinished | Kind::InternalError => Self::Cuda30,
            Kind::CtxPush | Kind::CtxPop | Kind::CtxCreate | Kind::CtxDestroy => Self::Cuda32,
            Kind::Timeout => Self::Cuda42,
            Kind::AttachComplete | Kind::DetachComplete => Self::Cuda50,
            Kind::Invalid
            | Kind::ElfImageUnloaded
            | Kind::FunctionsLoaded
            | Kind::AllDevicesSuspended
            | Kind::CudaLogsAvailable
            | Kind::CudaLogsThresholdReached
            | Kind::SingleStepComplete
            | Kind::CudaLogsRulesetChanged => Self::Cuda60,
        };
        self >= since
    }
}

/// A function of the client that is called when events wait, in the form of its generation.
#[derive(Debug, Clone, Copy)]
pub enum Callback {
    Cuda31(extern "C-unwind" fn(UserData), UserData),
    Cuda40(extern "C-unwind" fn(InOut<'_, CallbackData40>)),
    Cuda41(extern "C-unwind" fn(InOut<'_, CallbackData41>)),
    Cuda130(extern "C-unwind" fn(InOut<'_, CallbackData>), UserData),
}

/// The function that was set last. It may be set before a session is opened.
static CALLBACK: Mutex<Option<Callback>> = Mutex::new(None);

/// The reason why the client is notified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Notice {
    /// The thread of the program that raised the newest event; 0 for none.
    pub thread: u32,
    /// Whether an event was not acknowledged in time.
    pub timeout: bool,
}

/// Sets the function, or removes it.
pub fn set_callback(callback: Option<Callback>) {
    *CALLBACK.lock() = callback;
}

/// Calls the function, if there is one. No lock is held meanwhile. If it throws a C++ exception, that is reported on
/// stderr.
pub fn call_back(notice: Notice, rule: Rule) {
    let callback = *CALLBACK.lock();
    let Some(callback) = callback else { return };
    let (tid, timeout) = (notice.thread, u32::from(notice.timeout));
    let function = || match callback {
        Callback::Cuda31(function, data) => function(data),
        Callback::Cuda40(function) => function((&mut CallbackData40 { tid }).into()),
        Callback::Cuda41(function) => function((&mut CallbackData41 { tid, timeout }).into()),
        Callback::Cuda130(function, user_data) => function((&mut CallbackData { user_data, tid }).into()),
    };
    call_program(LIBRARY, "the notification callback", || inside(rule, function));
}
