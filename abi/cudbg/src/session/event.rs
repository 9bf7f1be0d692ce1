use std::sync::Arc;

use opscope_debug::ModelId;

use super::grids::Grid;
use super::modules::Module;
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
