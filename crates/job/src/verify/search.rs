use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use opscope::Session;
use opscope_clock::Clock;
use opscope_model::{Engine, EngineError, Fidelity, LoadOptions, PlanForm};
use opscope_onnx::{Graph, ValueId};
use opscope_sys::memory;
use opscope_tensor::{DType, Tensor};
use opscope_text::shown_size;

use super::difference::OutputComparison;
use super::trial::{Deadline, Trial, Trying, run_until};
use super::values::{find_values, kernel_outputs, with_random_numbers};
use super::{NotCompared, Outcome, OutputDifference, ValueSteps, Verification, Verify, VerifyOptions, WrongForm};

/// The time that a comparison may take in addition to that of the measured runs.
const GRACE: Duration = Duration::from_secs(2);

/// Comparing the values of kernels takes about as long as this many exact runs.
const RUNS_FOR_VALUES: u32 = 6;

/// The name of the form that runs the exact plan.
const EXACT: &str = "the exact plan";

/// The search for the fastest plan that is right.
pub(super) struct Search<'a> {
    session: &'a Session,
    /// Another engine, whose exact plan is the reference.
    reference: Option<&'a Arc<dyn Engine>>,
    inputs: Vec<Tensor>,
    comparison: OutputComparison<'a>,
    /// The values that are compared in addition to the outputs.
    values: BTreeSet<ValueId>,
    /// The result of running the engine's own plan.
    own: Result<Trial, EngineError>,
    deadline: Deadline,
    skipped: Option<String>,
}

impl<'a> Search<'a> {
    /// Runs the engine's own plan, and determines how long the rest may take.
    pub fn begin(
        session: &'a Session,
        reference: Option<&'a Arc<dyn Engine>>,
        inputs: &[Tensor],
        runs: u64,
        options: &VerifyOptions,
    ) -> Self {
        // The graph may not accept other numbers. Then the given ones are used.
        let varied = varied(inputs).map(|varied| Self::on(session, reference, &varied));
        let mut search =
            varied.filter(|search| search.own.is_ok()).unwrap_or_else(|| Self::on(session, reference, inputs));
        if options.when == Verify::Auto {
            search.limit(runs, options.timed);
        }
        search
    }

    /// Runs the engine's own plan on these inputs.
    pub fn on(session: &'a Session, reference: Option<&'a Arc<dyn Engine>>, inputs: &[Tensor]) -> Self {
        let comparison = OutputComparison::of(session.graph());
        let shows = |engine: &dyn Engine, fidelity| engine.capabilities(fidelity).intermediates;
        let exact = reference.map_or_else(|| session.engine(), |engine| &**engine);
        let is_shown = shows(session.engine(), session.model().fidelity()) && shows(exact, Fidelity::Exact);
        let values = if is_shown { comparison.taken() } else { BTreeSet::new() };
        let own = run_until(session, inputs, Trying { runs: 2, values: &values, deadline: Deadline::default() });
        Self {
            session,
            reference,
            inputs: inputs.to_vec(),
            comparison,
            values,
            own,
            deadline: Deadline::default(),
            skipped: None,
        }
    }

    /// Sets the deadline. Skips the comparison if it would take too much time or memory.
    fn limit(&mut self, runs: u64, timed: Duration) {
        let own = self.own.as_ref().ok();
        let budget = budget(own.map_or(Duration::ZERO, |own| own.time), runs, timed);
        let planning = own.map_or(Duration::ZERO, |own| own.planning);
        self.skipped = too_much((planning, budget), (exact_memory(self.session.graph()), memory::available()));
        self.deadline = Deadline::after(budget, &Clock::system());
    }

    /// Compares only the engine's own plan. Returns what is wrong with it.
    ///
    /// # Errors
    /// Returns why there is nothing to compare.
    pub fn own(self) -> Result<Option<WrongForm>, NotCompared> {
        let exact = self.session.with_options(&self.session.options(Fidelity::Exact))?;
        let once = Trying { runs: 1, values: &self.values, deadline: self.deadline.clone() };
        let reference = run_until(&exact, &self.inputs, once)?;
        let forms = self.session.engine().forms();
        let own = forms.first().ok_or(NotCompared::NoPlan)?;
        Ok(compare_form(&self.comparison, own, &reference, self.own).err())
    }

    /// Compares the forms in order until one is right. Returns `None` if the exact plan does not run either.
    pub fn run(self) -> Option<Verification> {
        // The exact plan would exceed the budget, too.
        if matches!(self.own, Err(EngineError::OverBudget { .. })) {
            return None;
        }
        let skipped = |because| Some(Verification::of(Outcome::Skipped { because }, Vec::new()));
        if let Some(because) = self.skipped {
            return skipped(because);
        }
        let options = self.session.options(Fidelity::Exact);
        let exact = match self.reference {
            None => self.session.with_options(&options).ok()?,
            Some(engine) => {
                match Session::with_engine(Arc::clone(engine), Arc::clone(self.session.graph()), &options) {
                    Ok(exact) => exact,
                    Err(error) => return skipped(format!("it does not run the model: {error}")),
                }
            }
        };
        let (comparison, values) = (&self.comparison, &self.values);
        let once = Trying { runs: 1, values, deadline: self.deadline.clone() };
        let reference = match run_until(&exact, &self.inputs, once) {
            Ok(reference) => reference,
            Err(EngineError::Stopped(_)) => return skipped(TOO_LONG.to_owned()),
            Err(error @ EngineError::Memory { .. }) => return skipped(format!("the exact plan does not run: {error}")),
            Err(error) if self.reference.is_some() => return skipped(format!("it does not run the model: {error}")),
            Err(_) => return None,
        };
        let compared =
            |form: &PlanForm, trial: Result<Trial, EngineError>| compare_form(comparison, form, &reference, trial);
        let twice = Trying { runs: 2, values, deadline: Deadline::default() };
        let is_exact = self.session.model().fidelity() == Fidelity::Exact;
        let forms = if is_exact { vec![PlanForm::new(EXACT)] } else { self.session.engine().forms() };
        let (own, weaker) = forms.split_first()?;
        let mut wrong = Vec::new();
        let right = |form: &PlanForm, outputs: Vec<OutputDifference>| {
            let largest_difference = outputs.iter().map(OutputDifference::share).fold(0.0, f64::max);
            Outcome::Right { form: form.name().to_owned(), largest_difference, outputs }
        };
        let outcome = match compared(own, self.own) {
            Ok(outputs) => right(own, outputs),
            Err(found) => {
                wrong.push(found);
                let mut found = None;
                for form in weaker {
                    let trial = self
                        .session
                        .in_form(form.clone())
                        .and_then(|session| run_until(&session, &self.inputs, twice.clone()));
                    match compared(form, trial) {
                        Ok(outputs) => {
                            found = Some(right(form, outputs));
                            break;
                        }
                        Err(other) => wrong.push(other),
                    }
                }
                match (found, self.reference) {
                    (Some(found), _) => found,
                    // The outputs of the exact plan are the reference.
                    (None, None) => right(&PlanForm::new(EXACT), Vec::new()),
                    (None, Some(_)) if is_exact => Outcome::Wrong,
                    (None, Some(_)) => {
                        let form = PlanForm::new(EXACT);
                        let trial = self.session.with_options(&options);
                        match compared(&form, trial.and_then(|session| run_until(&session, &self.inputs, twice))) {
                            Ok(outputs) => right(&form, outputs),
                            Err(other) => {
                                wrong.push(other);
                                Outcome::Wrong
                            }
                        }
                    }
                }
            }
        };
        let mut verification = Verification::of(outcome, wrong);
        let has_time = self.deadline.allows(reference.time.saturating_mul(RUNS_FOR_VALUES));
        let shows_values = self.session.engine().capabilities(Fidelity::Optimised).intermediates;
        // The values of kernels are compared with the engine's own exact plan.
        let exact = match self.reference {
            None => Some(exact),
            Some(_) => self.session.with_options(&options).ok(),
        };
        if shows_values
            && has_time
            && !is_exact
            && let Some(exact) = exact
            && let Some(session) = session_for(self.session, &verification)
        {
            let session = session.as_ref().unwrap_or(self.session);
            let runs = [self.inputs.clone(), with_random_numbers(&self.inputs, 2)];
            if let Ok((kernels, outputs)) = find_values(session, &exact, &runs, &ValueSteps::default()) {
                verification.kernels = kernel_outputs(session.graph(), &kernels, &outputs);
            }
        }
        Some(verification)
    }
}

/// Returns the reason not to begin a comparison: making a plan takes longer than the whole comparison may, or it needs
/// too much memory. Making the exact plan takes at most as long as making the optimised one.
fn too_much((planning, budget): (Duration, Duration), (needed, available): (u64, u64)) -> Option<String> {
    match (planning > budget, needed > available) {
        (_, true) => Some(format!("the exact plan would need {} of memory", shown_size(needed))),
        (true, false) => Some(TOO_LONG.to_owned()),
        (false, false) => None,
    }
}

/// Returns how long a comparison may take if a run takes `own`: as long as the timed runs, and [`GRACE`].
fn budget(own: Duration, runs: u64, timed: Duration) -> Duration {
    let runs = u32::try_from(runs).unwrap_or(u32::MAX);
    own.saturating_mul(runs).max(timed).saturating_add(GRACE)
}

/// Why a comparison is skipped.
const TOO_LONG: &str = "that would take longer than the timed runs and two seconds; --verify on does it";

/// Returns the session to run after a verification, or `Some(None)` if it is the same one. Returns `None` if the model
/// cannot be loaded for the new session.
pub(super) fn session_for(session: &Session, verification: &Verification) -> Option<Option<Session>> {
    let Outcome::Right { form, .. } = &verification.outcome else { return Some(None) };
    if session.model().fidelity() == Fidelity::Exact {
        return Some(None);
    }
    if form == EXACT {
        return session.with_options(&session.options(Fidelity::Exact)).ok().map(Some);
    }
    if verification.wrong.is_empty() && verification.kernels.is_empty() {
        return Some(None);
    }
    let options = LoadOptions {
        form: Some(PlanForm::new(form.clone())),
        known: verification.known(),
        ..session.options(Fidelity::Optimised)
    };
    session.with_options(&options).ok().map(Some)
}

/// Compares a form with the reference. Returns how far each output is from it.
///
/// # Errors
/// Returns what is wrong with the form.
fn compare_form(
    comparison: &OutputComparison<'_>,
    form: &PlanForm,
    reference: &Trial,
    trial: Result<Trial, EngineError>,
) -> Result<Vec<OutputDifference>, WrongForm> {
    let wrong = |outputs, fails_with, run_ms| WrongForm { form: form.name().to_owned(), outputs, fails_with, run_ms };
    let trial = trial.map_err(|error| wrong(Vec::new(), Some(error.to_string()), None))?;
    let run_ms = trial.time.as_secs_f64() * 1e3;
    comparison.compare(&trial, reference).map_err(|outputs| wrong(outputs, None, Some(run_ms)))
}

/// Replaces floating-point inputs whose elements are all equal, such as the generated zeros of a benchmark, by random
/// numbers, because wrong operators often return right outputs for equal elements. Returns `None` if there are no such
/// inputs.
pub(super) fn varied(inputs: &[Tensor]) -> Option<Vec<Tensor>> {
    let is_uniform = |tensor: &Tensor| {
        let size = tensor.dtype().size().unwrap_or(0);
        size > 0 && tensor.bytes().chunks(size).all(|element| element == &tensor.bytes()[..size])
    };
    let is_float = |tensor: &Tensor| matches!(tensor.dtype(), DType::F16 | DType::F32 | DType::F64);
    if !inputs.iter().any(|input| is_float(input) && is_uniform(input)) {
        return None;
    }
    let random = with_random_numbers(inputs, 1);
    Some(
        inputs
            .iter()
            .zip(random)
            .map(|(given, random)| if is_uniform(given) { random } else { given.clone() })
            .collect(),
    )
}

/// Returns an estimate of the bytes that a second plan takes: those of the file, and as many again for what the engine
/// makes of them.
fn exact_memory(graph: &Graph) -> u64 {
    graph.source.bytes.len() as u64 * 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comparison_is_skipped_where_planning_takes_too_long_or_memory_is_short() {
        let second = Duration::from_secs(1);
        let tick = Duration::from_nanos(1);
        assert_eq!(too_much((second, second), (100, 100)), None);
        assert_eq!(too_much((second + tick, second), (100, 100)).as_deref(), Some(TOO_LONG));
        let memory = too_much((second, second), (3 << 20, (3 << 20) - 1));
        assert_eq!(memory.as_deref(), Some("the exact plan would need 3.0 MiB of memory"));
        assert_eq!(too_much((second * 2, second), (3 << 20, 0)), memory, "more time would not help");
    }

    #[test]
    fn inputs_are_varied_if_one_of_floating_point_numbers_has_equal_elements() {
        let zeros = Tensor::from_f32(vec![3], &[0.0; 3]).unwrap();
        let different = Tensor::from_f32(vec![3], &[0.0, 1.0, 0.0]).unwrap();
        let ones = Tensor::from_i64(vec![2], &[1, 1]).unwrap();
        assert!(varied(&[different.clone(), ones.clone()]).is_none());
        let found = varied(&[zeros.clone(), different.clone(), ones.clone()]).expect("the first has equal elements");
        assert_ne!(found[0].bytes(), zeros.bytes());
        assert_eq!(found[1].bytes(), different.bytes());
        assert_eq!(found[2].bytes(), ones.bytes(), "indices and counts stay what they are");
    }

    #[test]
    fn a_plan_takes_twice_the_bytes_of_the_file() {
        let mut graph = opscope_model::testing::GraphBuilder::new("large").input("x", &[1]).build();
        graph.source.bytes = vec![0; 1 << 20].into();
        assert_eq!(exact_memory(&graph), 2 << 20);
    }

    #[test]
    fn a_comparison_may_take_as_long_as_the_runs_that_are_timed_and_two_seconds() {
        let seconds = Duration::from_secs;
        assert_eq!(budget(seconds(3), 5, Duration::ZERO), seconds(17));
        assert_eq!(budget(Duration::from_millis(100), 2, seconds(60)), seconds(62), "runs are repeated for a minute");
        assert_eq!(budget(seconds(40), 2, seconds(60)), seconds(82), "two runs take longer than that");
        assert_eq!(budget(Duration::ZERO, u64::MAX, Duration::ZERO), seconds(2));
    }
}
