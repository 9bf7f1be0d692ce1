use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use opscope_model::{Interest, KernelId, KernelSet, RunId};
use opscope_sys::{Mutex, MutexGuard};

use super::counts::SeenCounts;
use super::masks::Masks;
use super::plan::PlanInfo;
use super::stop_table::{RunControl, Step, StopTable};
use crate::event::Moment;

/// A run in progress.
pub(crate) struct ActiveRun {
    pub id: RunId,
    pub plan: Arc<PlanInfo>,
    masks: Arc<Masks>,
    /// The system's number of its thread; 0 before it begins.
    thread: AtomicU32,
    over: AtomicBool,
    was_stopped: AtomicBool,
    control: Mutex<RunControl>,
    /// The counts of NaN and infinity so far, if a breakpoint watches for them.
    seen: Mutex<SeenCounts>,
    /// The same run with the plan that it began with, if the plan of an open model has grown since. The program asks
    /// the masks of that one.
    began_as: Option<Arc<ActiveRun>>,
}

impl ActiveRun {
    pub fn new(id: RunId, plan: Arc<PlanInfo>) -> Self {
        Self {
            id,
            masks: plan.masks(),
            thread: AtomicU32::new(0),
            over: AtomicBool::new(false),
            was_stopped: AtomicBool::new(false),
            control: Mutex::default(),
            seen: Mutex::default(),
            began_as: None,
            plan,
        }
    }

    /// Returns a run in progress of an open model with a plan that has grown. It goes on where the run stops, with this
    /// table.
    pub fn grown(run: &Arc<ActiveRun>, plan: Arc<PlanInfo>, table: Option<Arc<StopTable>>) -> Self {
        let mut control = std::mem::take(&mut *run.control());
        if let Some(Step::Until(kernels, destination)) = &mut control.step {
            *kernels = plan.until(destination);
        }
        control.table = table;
        let mut grown = Self::new(run.id, plan);
        grown.thread = AtomicU32::new(run.thread());
        grown.over = AtomicBool::new(run.is_over());
        grown.was_stopped = AtomicBool::new(run.was_stopped.load(Ordering::Relaxed));
        grown.seen = Mutex::new(std::mem::take(&mut *run.seen()));
        grown.began_as = Some(run.began_as.as_ref().map_or_else(|| Arc::clone(run), Arc::clone));
        grown.change(|now| *now = control);
        grown
    }

    pub fn interest(&self) -> Interest {
        Interest {
            before: KernelSet::Live(Arc::clone(&self.masks.before)),
            after: KernelSet::Live(Arc::clone(&self.masks.after)),
            keep_inputs: KernelSet::Live(Arc::clone(&self.masks.keep)),
            replaces_inputs: true,
            ..Interest::default()
        }
    }

    /// Returns whether the observer has anything to do at a kernel. This is one relaxed load.
    #[inline]
    pub fn is_wanted(&self, kernel: KernelId, moment: Moment) -> bool {
        match moment {
            Moment::Before => self.masks.before.contains(kernel),
            Moment::After => self.masks.after.contains(kernel),
        }
    }

    /// Changes where the run stops, and updates the engine's masks accordingly.
    pub fn change<R>(&self, change: impl FnOnce(&mut RunControl) -> R) -> R {
        let mut control = self.control();
        let result = change(&mut control);
        control.was_changed = true;
        self.switch(&control);
        result
    }

    /// Locks the description of where the run stops.
    pub fn control(&self) -> MutexGuard<'_, RunControl> {
        self.control.lock()
    }

    /// Locks the counts of NaN and infinity in this run.
    pub fn seen(&self) -> MutexGuard<'_, SeenCounts> {
        self.seen.lock()
    }

    fn switch(&self, control: &RunControl) {
        self.switch_masks(&self.masks, control);
        if let Some(first) = &self.began_as {
            self.switch_masks(&first.masks, control);
        }
    }

    fn switch_masks(&self, masks: &Masks, control: &RunControl) {
        let Masks { before, after, keep } = masks;
        if self.plan.is_open() {
            // Whether an operator is wanted that was not found yet is decided when it is.
            let is_watched = control.table.is_some() || control.abort.is_some();
            [before, after, keep].into_iter().for_each(|mask| mask.set_others(is_watched));
        }
        let is_decided = |kernel| control.abort.is_some() || control.skip.iter().any(|(skipped, _)| *skipped == kernel);
        let kernels = self.plan.kernels.iter().map(|kernel| kernel.id);
        let Some(table) = &control.table else {
            kernels.for_each(|kernel| before.set(kernel, is_decided(kernel)));
            return [after, keep].into_iter().for_each(|mask| mask.set_all(false));
        };
        let each_begin = control.pause.is_some() || table.ready || matches!(control.step, Some(Step::Next));
        let each_end = matches!(control.step, Some(Step::Finish(_)));
        let first = table.first.iter().any(|breakpoint| breakpoint.watches(self.id));
        for kernel in kernels {
            let is_bound = |moment| self.plan.is_bound(kernel, moment);
            let until = matches!(&control.step, Some(Step::Until(kernels, _)) if kernels[kernel.index()]);
            let begins = each_begin && is_bound(Moment::Before);
            let begins_here = is_decided(kernel) || begins || until || table.can_stop(self.id, kernel, Moment::Before);
            // Every kernel can produce NaN.
            let looked_at_after =
                first || each_end && is_bound(Moment::After) || table.can_stop(self.id, kernel, Moment::After);
            before.set(kernel, begins_here);
            after.set(kernel, looked_at_after || table.finished && is_bound(Moment::After));
            // A client that stops after an operator can also read its inputs.
            keep.set(kernel, looked_at_after);
        }
    }

    pub fn begin(&self, thread: u32) {
        self.thread.store(thread, Ordering::Relaxed);
    }

    /// Notes that the run has ended. Returns whether this was not known before.
    pub fn end(&self) -> bool {
        !self.over.swap(true, Ordering::Relaxed)
    }

    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Returns whether it has begun.
    pub fn has_begun(&self) -> bool {
        self.thread() != 0
    }

    pub fn thread(&self) -> u32 {
        self.thread.load(Ordering::Relaxed)
    }

    /// Notes that the run is stopped. Returns whether this is its first stop.
    pub fn is_first_stop(&self) -> bool {
        !self.was_stopped.swap(true, Ordering::Relaxed)
    }
}

impl Drop for ActiveRun {
    fn drop(&mut self) {
        let was_changed = self.control.get_mut().was_changed;
        if was_changed || self.plan.is_open() {
            self.masks.clear();
        }
        self.plan.return_masks(Arc::clone(&self.masks));
    }
}
