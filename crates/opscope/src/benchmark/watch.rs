use std::sync::atomic::AtomicBool;

use opscope_clock::Ticks;
use opscope_dump::Dumper;
use opscope_model::{Instrument, Model, Plan, RunId, RunInfo, RunObserver};
use opscope_profile::{Call, Profiler};

use super::interruptible::Interruptible;

/// What watches the runs of a benchmark. One at a time: a dump lengthens the times that a profile shows.
#[derive(Clone, Copy, Default)]
pub enum Watch<'a> {
    /// Nothing. The times are as undisturbed as they can be.
    #[default]
    Nothing,
    /// A profiler.
    Profiler(&'a Profiler),
    /// A dumper.
    Dumper(&'a Dumper),
}

impl<'a> Watch<'a> {
    /// The instrument, where there is one.
    pub fn instrument(&self) -> Option<&'a dyn Instrument> {
        match *self {
            Watch::Nothing => None,
            Watch::Profiler(profiler) => Some(profiler),
            Watch::Dumper(dumper) => Some(dumper),
        }
    }

    /// Says whether the runs that follow only warm up.
    pub(super) fn set_warm_up(&self, warm_up: bool) {
        if let Watch::Profiler(profiler) = self {
            profiler.set_warm_up(warm_up);
        }
    }

    /// A plan was made that will run now for the first time.
    pub(super) fn planned(
        &self,
        model: &dyn Model,
        plan: &dyn Plan,
        start: Ticks,
        end: Ticks,
    ) -> Result<(), opscope_dump::DumpError> {
        match self {
            Watch::Nothing => Ok(()),
            Watch::Profiler(profiler) => {
                profiler.called(Call::Plan, None, start, end);
                Ok(())
            }
            Watch::Dumper(dumper) => dumper.add_plan(model, plan),
        }
    }

    /// The observer of a run. A run that is dumped ends between two operators when `cancel` is set; one that is profiled
    /// is let go on to its end, for half a run says nothing.
    pub(super) fn observe(&self, run: &RunInfo<'a>, cancel: &'a AtomicBool) -> Option<Box<dyn RunObserver + 'a>> {
        match *self {
            Watch::Nothing => None,
            Watch::Profiler(profiler) => Some(profiler.observe(run)),
            Watch::Dumper(dumper) => Some(Box::new(Interruptible { inner: dumper.observe(run), cancel })),
        }
    }

    /// A run is over: when its upload began, and when upload, inference and download ended.
    pub(super) fn ran(&self, run: RunId, [upload, start, end, download]: [Ticks; 4], bytes_in: u64, bytes_out: u64) {
        if let Watch::Profiler(profiler) = self {
            profiler.copied_in(run, bytes_in, upload, start);
            profiler.called(Call::Run, Some(run), start, end);
            profiler.copied_out(run, bytes_out, end, download);
        }
    }
}
