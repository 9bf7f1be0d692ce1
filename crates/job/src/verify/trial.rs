//! One run of a plan, which stops between two operators after a moment has passed.

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use opscope::Session;
use opscope_clock::Clock;
use opscope_model::{Action, Dispatch, EngineError, Interest, KernelSet, Plan, RunId, RunObserver};
use opscope_onnx::ValueId;
use opscope_sys::Mutex;
use opscope_tensor::{Tensor, TensorView};

/// One run of a plan.
pub(super) struct Trial {
    /// Its outputs; `None` for those without a byte form.
    pub outputs: Vec<Option<Tensor>>,
    /// The requested values that the plan shows, perhaps in another shape or order.
    pub values: HashMap<ValueId, Tensor>,
    /// The time that making the plan took; almost zero if it was cached.
    pub planning: Duration,
    /// The time of the run.
    pub time: Duration,
}

/// How a plan is tried.
#[derive(Clone)]
pub(super) struct Trying<'a> {
    /// The number of runs. The last one counts, because an engine may fail to reset its state between runs.
    pub runs: u64,
    /// The values to keep.
    pub values: &'a BTreeSet<ValueId>,
    /// When the trial stops, between two operators.
    pub deadline: Deadline,
}

/// Makes a plan and runs it.
///
/// # Errors
/// Returns the engine's error, or [`EngineError::Stopped`] at the deadline.
pub(super) fn run_until(session: &Session, inputs: &[Tensor], trying: Trying<'_>) -> Result<Trial, EngineError> {
    let start = Instant::now();
    let plan = session.model().plan(inputs)?;
    let planning = start.elapsed();
    let deadline = trying.deadline;
    if deadline.has_passed() {
        return Err(EngineError::Stopped("the deadline has passed".to_owned()));
    }
    let observer = TrialObserver { deadline, wanted: Wanted::of(&*plan, trying.values), values: Mutex::default() };
    let resident = plan.upload(inputs)?;
    let mut runs = (0..trying.runs).map(RunId);
    let last = runs.next_back().expect("a trial has at least one run");
    for earlier in runs {
        plan.run(earlier, &*resident, &observer)?;
    }
    let start = Instant::now();
    let outputs = plan.run(last, &*resident, &observer)?;
    let time = start.elapsed();
    let outputs = (0..outputs.len()).map(|slot| outputs.view(slot).to_tensor().ok()).collect();
    let values = observer.values.into_inner();
    Ok(Trial { outputs, values, planning, time })
}

/// The values to keep of a plan: for each kernel, the output slots and their values.
struct Wanted(Vec<Vec<(usize, ValueId)>>);

impl Wanted {
    fn of(plan: &dyn Plan, values: &BTreeSet<ValueId>) -> Self {
        let of_kernel = |kernel: &opscope_model::Kernel| {
            let named = kernel.outputs.iter().enumerate();
            let held = |slot: usize| kernel.holds.get(slot).into_iter().flatten();
            let named = named.flat_map(|(slot, named)| named.iter().chain(held(slot)).map(move |&value| (slot, value)));
            named.filter(|(_, value)| values.contains(value)).collect()
        };
        Self(plan.kernels().iter().map(of_kernel).collect())
    }

    fn kernels(&self) -> KernelSet {
        match self.0.iter().all(Vec::is_empty) {
            true => KernelSet::Empty,
            false => KernelSet::Mask(self.0.iter().map(|values| !values.is_empty()).collect()),
        }
    }
}

struct TrialObserver {
    deadline: Deadline,
    wanted: Wanted,
    values: Mutex<HashMap<ValueId, Tensor>>,
}

impl RunObserver for TrialObserver {
    fn interest(&self) -> Interest {
        Interest { after: self.wanted.kernels(), ..self.deadline.interest() }
    }

    fn before(&self, dispatch: &Dispatch<'_>, inputs: &[TensorView<'_>]) -> Action {
        self.deadline.before(dispatch, inputs)
    }

    fn after(&self, dispatch: &Dispatch<'_>, outputs: &[TensorView<'_>]) -> Action {
        let mut values = self.values.lock();
        for &(slot, value) in &self.wanted.0[dispatch.kernel.id.index()] {
            if let Some(tensor) = outputs.get(slot).and_then(|output| output.to_tensor().ok()) {
                values.insert(value, tensor);
            }
        }
        Action::Continue
    }
}

/// Stops a run between two operators after a moment has passed.
#[derive(Debug, Clone, Default)]
pub(super) struct Deadline {
    clock: Clock,
    /// `None` for never.
    moment: Option<Instant>,
}

impl Deadline {
    /// Returns a deadline this long after now. A time that is too long for the clock means no deadline.
    pub fn after(time: Duration, clock: &Clock) -> Self {
        Self { clock: clock.clone(), moment: clock.after(time) }
    }

    pub fn has_passed(&self) -> bool {
        self.moment.is_some_and(|moment| self.clock.now() > moment)
    }

    /// Returns whether work that takes this long would end before the deadline.
    pub fn allows(&self, time: Duration) -> bool {
        self.moment.is_none_or(|moment| self.clock.after(time).is_some_and(|end| end < moment))
    }
}

impl RunObserver for Deadline {
    fn interest(&self) -> Interest {
        let before = if self.moment.is_some() { KernelSet::All } else { KernelSet::Empty };
        Interest { before, ..Interest::default() }
    }

    fn before(&self, _dispatch: &Dispatch<'_>, _inputs: &[TensorView<'_>]) -> Action {
        if self.has_passed() { Action::Stop("the deadline has passed".to_owned()) } else { Action::Continue }
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;
    use std::sync::Arc;

    use opscope_clock::ManualClock;
    use opscope_model::testing::{FakeEngine, FakePlan, GraphBuilder, kernels};
    use opscope_model::{Fidelity, LoadOptions};

    use super::*;

    #[test]
    fn a_trial_executes_every_run_and_ends_between_two_operators_when_its_deadline_passes() {
        // Each kernel takes a second of a clock, and is noted.
        let (clock, executed) = (ManualClock::create(), Arc::new(Mutex::new(Vec::new())));
        let (passing, noted) = (clock.clone(), Arc::clone(&executed));
        let engine = FakeEngine::new(&["only"], move |graph, options| {
            let (passing, noted) = (passing.clone(), Arc::clone(&noted));
            let kernels = kernels(graph, &[&["first"], &["second"]]);
            Ok(FakePlan::new(graph, kernels, options.fidelity, move |kernel, inputs| {
                passing.advance(Duration::from_secs(1));
                noted.lock().push(kernel.op.clone());
                Ok(inputs.to_vec())
            }))
        });
        let graph = GraphBuilder::new("two").input("x", &[1]).operator("first", "Relu", &["x"], &["a"]);
        let graph = Arc::new(graph.operator("second", "Neg", &["a"], &["y"]).output("y").build());
        let options = LoadOptions::new(Fidelity::Optimised, NonZeroUsize::MIN);
        let session = Session::with_engine(Arc::new(engine), graph, &options).unwrap();
        let try_for = |seconds: u64, runs: u64| {
            let deadline = Deadline::after(Duration::from_secs(seconds), &Clock::manual(&clock));
            let inputs = [Tensor::from_f32(vec![1], &[7.0]).unwrap()];
            let done = run_until(&session, &inputs, Trying { runs, values: &BTreeSet::new(), deadline });
            let stopped = matches!(done, Err(EngineError::Stopped(_)));
            assert!(stopped || done.is_ok());
            (std::mem::take(&mut *executed.lock()), stopped)
        };
        let ops = |ops: &[&str]| ops.iter().map(|op| (*op).to_owned()).collect::<Vec<_>>();
        assert_eq!(try_for(100, 1), (ops(&["Relu", "Neg"]), false));
        assert_eq!(try_for(100, 2), (ops(&["Relu", "Neg", "Relu", "Neg"]), false));
        // After two of the three seconds that have passed, it is too late.
        assert_eq!(try_for(2, 2), (ops(&["Relu", "Neg", "Relu"]), true));
        assert_eq!(try_for(0, 1), (ops(&["Relu"]), true));
    }

    #[test]
    fn a_deadline_passes_when_its_time_is_over_and_allows_what_ends_before() {
        let clock = ManualClock::create();
        let deadline = Deadline::after(Duration::from_secs(17), &Clock::manual(&clock));
        clock.advance(Duration::from_secs(10));
        assert!(deadline.allows(Duration::from_millis(6_999)));
        assert!(!deadline.allows(Duration::from_secs(7)));
        clock.advance(Duration::from_secs(7));
        assert!(!deadline.has_passed());
        clock.advance(Duration::from_millis(1));
        assert!(deadline.has_passed());
        assert!(!deadline.allows(Duration::ZERO));
    }

    #[test]
    fn without_a_deadline_nothing_is_too_late() {
        for never in [Deadline::default(), Deadline::after(Duration::MAX, &Clock::system())] {
            assert!(!never.has_passed());
            assert!(never.allows(Duration::MAX));
            assert!(matches!(never.interest().before, KernelSet::Empty));
        }
    }
}
