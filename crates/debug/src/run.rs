use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use opscope_model::{Interest, KernelId, KernelSet, LiveMask, RunId};
use opscope_tensor::Tensor;

use crate::first::Met;
use crate::plan::PlanInfo;
use crate::table::Table;
use crate::{Moment, RunState, Sequence};

/// A run in progress.
pub(crate) struct Run {
    pub id: RunId,
    pub plan: Arc<PlanInfo>,
    masks: Arc<Masks>,
    /// The system's number of its thread; 0 before it begins.
    thread: AtomicU32,
    over: AtomicBool,
    was_stopped: AtomicBool,
    course: Mutex<Course>,
    /// What is not finite, where that is watched for.
    met: Mutex<Met>,
}

/// The kernels at which an engine calls. All off while no debugger wants anything.
pub(crate) struct Masks {
    before: Arc<LiveMask>,
    after: Arc<LiveMask>,
    keep: Arc<LiveMask>,
}

/// What a debugger wants of a run.
#[derive(Default)]
pub(crate) struct Course {
    /// None while nobody is attached.
    pub table: Option<Arc<Table>>,
    pub step: Option<Step>,
    pub pause: Option<Pause>,
    /// Why it is to end at its next operator: it was stopped where it could not end at once. Whoever wanted it may be gone.
    pub abort: Option<String>,
    /// What the rest of a skipped operator gives: its kernels that would give it, and their outputs.
    pub skip: Vec<(KernelId, Vec<Tensor>)>,
    /// Whether something may be switched on.
    is_wanted: bool,
}

/// That a run stops at its next operator, whichever that is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pause {
    /// This run was meant.
    This,
    /// All were meant: if it ends before, the next run to come stops.
    Any,
}

/// Where a run stops next, breakpoints aside.
pub(crate) enum Step {
    /// Before the next operator.
    Next,
    /// After an operator.
    Finish,
    /// Before one of these kernels.
    Until(Box<[bool]>),
}

impl Masks {
    pub fn new(kernels: usize) -> Self {
        let mask = || Arc::new(LiveMask::new(kernels));
        Self { before: mask(), after: mask(), keep: mask() }
    }

    /// Switches everything off.
    pub fn clear(&self) {
        self.all().into_iter().for_each(|mask| mask.set_all(false));
    }

    /// Whether no engine has them any more.
    pub fn are_free(&self) -> bool {
        self.all().into_iter().all(|mask| Arc::strong_count(mask) == 1)
    }

    fn all(&self) -> [&Arc<LiveMask>; 3] {
        [&self.before, &self.after, &self.keep]
    }
}

impl Run {
    pub fn new(id: RunId, plan: Arc<PlanInfo>) -> Self {
        Self {
            id,
            masks: plan.masks(),
            thread: AtomicU32::new(0),
            over: AtomicBool::new(false),
            was_stopped: AtomicBool::new(false),
            course: Mutex::default(),
            met: Mutex::default(),
            plan,
        }
    }

    pub fn interest(&self) -> Interest {
        Interest {
            before: KernelSet::Live(Arc::clone(&self.masks.before)),
            after: KernelSet::Live(Arc::clone(&self.masks.after)),
            keep_inputs: KernelSet::Live(Arc::clone(&self.masks.keep)),
            ..Interest::default()
        }
    }

    /// Whether anything is wanted at a place: one relaxed load.
    #[inline]
    pub fn is_wanted(&self, kernel: KernelId, moment: Moment) -> bool {
        match moment {
            Moment::Before => self.masks.before.contains(kernel),
            Moment::After => self.masks.after.contains(kernel),
        }
    }

    /// Changes what is wanted, and lets the engine know.
    pub fn change<R>(&self, change: impl FnOnce(&mut Course) -> R) -> R {
        let mut course = self.course();
        let result = change(&mut course);
        course.is_wanted = true;
        self.switch(&course);
        result
    }

    /// What is wanted at a moment.
    pub fn course(&self) -> MutexGuard<'_, Course> {
        self.course.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was seen of this run that is not finite.
    pub fn met(&self) -> MutexGuard<'_, Met> {
        self.met.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn switch(&self, course: &Course) {
        let Masks { before, after, keep } = &*self.masks;
        let promised = |kernel| course.abort.is_some() || course.skip.iter().any(|(skipped, _)| *skipped == kernel);
        let kernels = self.plan.kernels.iter().map(|kernel| kernel.id);
        let Some(table) = &course.table else {
            kernels.for_each(|kernel| before.set(kernel, promised(kernel)));
            return [after, keep].into_iter().for_each(|mask| mask.set_all(false));
        };
        let each_begin = course.pause.is_some() || table.ready || matches!(course.step, Some(Step::Next));
        let each_end = matches!(course.step, Some(Step::Finish));
        let first = table.first.iter().any(|breakpoint| breakpoint.watches(self.id));
        for kernel in kernels {
            let is_bound = |moment| self.plan.is_bound(kernel, moment);
            let until = matches!(&course.step, Some(Step::Until(kernels)) if kernels[kernel.index()]);
            let begins = each_begin && is_bound(Moment::Before);
            let begins_here = promised(kernel) || begins || until || table.can_stop(self.id, kernel, Moment::Before);
            // What makes NaN is looked for in whatever is executed.
            let looked_at_after =
                first || each_end && is_bound(Moment::After) || table.can_stop(self.id, kernel, Moment::After);
            before.set(kernel, begins_here);
            after.set(kernel, looked_at_after || table.finished && is_bound(Moment::After));
            // Whoever stops after an operator wants to see what went into it, too.
            keep.set(kernel, looked_at_after);
        }
    }

    pub fn begin(&self, thread: u32) {
        self.thread.store(thread, Ordering::Relaxed);
    }

    /// Notes that it is over, and says whether it was not before.
    pub fn end(&self) -> bool {
        !self.over.swap(true, Ordering::Relaxed)
    }

    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Whether it has begun and is not over.
    pub fn is_going_on(&self) -> bool {
        self.thread() != 0 && !self.is_over()
    }

    pub fn thread(&self) -> u32 {
        self.thread.load(Ordering::Relaxed)
    }

    /// Notes that the run is stopped, and says whether it had not been before.
    pub fn is_first_stop(&self) -> bool {
        !self.was_stopped.swap(true, Ordering::Relaxed)
    }

    /// How it stands, with the event that it is stopped at.
    pub fn state(&self, stopped: Option<Sequence>) -> RunState {
        RunState { run: self.id, model: self.plan.model, thread: self.thread(), stopped }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let is_wanted = self.course.get_mut().unwrap_or_else(PoisonError::into_inner).is_wanted;
        if is_wanted {
            self.masks.clear();
        }
        self.plan.give_back(Arc::clone(&self.masks));
    }
}
