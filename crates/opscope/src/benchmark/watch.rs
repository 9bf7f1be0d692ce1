use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use opscope_clock::Ticks;
use opscope_debug::Debugger;
use opscope_dump::{Dumper, InputEntry};
use opscope_model::{Instrument, Model, Plan, RunId, RunInfo, RunObserver};
use opscope_profile::{Call, Profiler};

use super::interruptible::Interruptible;
use crate::Chain;

/// What watches the runs of a benchmark.
#[derive(Clone, Copy, Default)]
pub struct Watch<'a> {
    /// A debugger. It comes first: what it replaces is what is captured.
    pub debugger: Option<&'a Debugger>,
    /// What captures the runs.
    pub capture: Capture<'a>,
}

/// What captures runs. One at a time: a dump lengthens the times that a profile shows.
#[derive(Clone, Copy, Default)]
pub enum Capture<'a> {
    /// Nothing. The times are as undisturbed as they can be.
    #[default]
    Nothing,
    /// A profiler.
    Profiler(&'a Profiler),
    /// A dumper.
    Dumper(&'a Dumper),
}

impl<'a> Watch<'a> {
    /// The instruments, in the order in which they are called.
    pub fn instruments(&self) -> impl Iterator<Item = &'a dyn Instrument> + use<'a> {
        let captures: Option<&'a dyn Instrument> = match self.capture {
            Capture::Nothing => None,
            Capture::Profiler(profiler) => Some(profiler),
            Capture::Dumper(dumper) => Some(dumper),
        };
        let debugger: Option<&'a dyn Instrument> = self.debugger.map(|debugger| debugger as _);
        debugger.into_iter().chain(captures)
    }

    /// Says whether the runs that follow only warm up.
    pub(super) fn set_warm_up(&self, warm_up: bool) {
        if let Capture::Profiler(profiler) = self.capture {
            profiler.set_warm_up(warm_up);
        }
    }

    /// A plan was made that will run now for the first time.
    pub(super) fn planned(&self, model: &dyn Model, plan: &dyn Plan) -> Result<(), opscope_dump::DumpError> {
        if let Some(debugger) = self.debugger {
            debugger.planned(model.graph(), model.fidelity(), plan.kernels());
        }
        match self.capture {
            Capture::Nothing => Ok(()),
            Capture::Profiler(profiler) => {
                let (start, end) = plan.made();
                profiler.called(Call::Plan, None, start, end);
                Ok(())
            }
            Capture::Dumper(dumper) => dumper.add_plan(model, plan),
        }
    }

    /// A run will be given these inputs, as far as something wants to know them.
    pub(super) fn given(&self, run: RunId, inputs: impl FnOnce() -> Arc<[InputEntry]>) {
        if let Capture::Dumper(dumper) = self.capture {
            dumper.set_inputs(run, inputs());
        }
    }

    /// The observer of a run. A run that is dumped ends between two operators when `cancel` is set; one that is profiled
    /// is let go on to its end, for half a run says nothing.
    pub(super) fn observe(&self, run: &RunInfo<'a>, cancel: &'a AtomicBool) -> Option<Box<dyn RunObserver + 'a>> {
        let captures: Option<Box<dyn RunObserver + 'a>> = match self.capture {
            Capture::Nothing => None,
            Capture::Profiler(profiler) => Some(profiler.observe(run)),
            Capture::Dumper(dumper) => Some(Box::new(Interruptible { inner: dumper.observe(run), cancel })),
        };
        let Some(debugger) = self.debugger else { return captures };
        let debugs = debugger.observe(run);
        Some(match captures {
            None => debugs,
            Some(captures) => Box::new(Chain::new([debugs, captures])),
        })
    }

    /// A run is over: when its upload began, and when upload, inference and download ended.
    pub(super) fn ran(&self, run: RunId, [upload, start, end, download]: [Ticks; 4], bytes_in: u64, bytes_out: u64) {
        if let Capture::Profiler(profiler) = self.capture {
            profiler.copied_in(run, bytes_in, upload, start);
            profiler.called(Call::Run, Some(run), start, end);
            profiler.copied_out(run, bytes_out, end, download);
        }
    }
}
