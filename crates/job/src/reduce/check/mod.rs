//! Checks whether a model fails, by running it.

mod apart;
mod inside;
mod nonfinite;

use std::io;
use std::num::NonZeroUsize;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use opscope::engine::{EngineName, EngineSpec};
use opscope_sys::Mutex;

use super::case::Case;
use super::fails::{Fails, Failure, Symptom};
use super::written::WrittenCase;
pub(super) use apart::{CHECK_SCHEMA, quoted_command};

/// How models are run, and what must happen.
#[derive(Debug, Clone)]
pub struct CheckSpec {
    /// The failure.
    pub fails: Fails,
    /// The engine. If engines are compared, the other one is added.
    pub engine: EngineSpec,
    /// Threads within an operator.
    pub threads: NonZeroUsize,
    /// The words that make another process of the command use this engine and these threads.
    pub words: Vec<String>,
}

/// The result of running a model.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// It fails in the requested way.
    Fails(Failure),
    /// It does not. The text says what happens instead.
    Otherwise(String),
}

/// Where a reduction stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// What is tried now.
    pub doing: &'static str,
    /// The operators of the smallest model so far.
    pub operators: usize,
    /// How many models were run.
    pub checks: u64,
}

/// What a reduction needs of the program around it.
pub struct ReduceHooks<'a> {
    /// Returns a command that starts this program again, without arguments.
    pub command: &'a (dyn Fn() -> io::Result<Command> + Sync),
    /// Ends the search when it is set. The smallest model so far is the result.
    pub cancel: &'a AtomicBool,
    /// Called before each check.
    pub progress: &'a (dyn Fn(&Progress) + Sync),
    /// The smallest model so far, for a program that ends while a check lasts.
    pub best: &'a Best,
}

/// The smallest model so far that fails in the same way.
#[derive(Debug, Default)]
pub struct Best {
    case: Mutex<Option<Case>>,
    is_settled: AtomicBool,
}

impl Best {
    /// Returns whether the search has ended, and its result is being written.
    pub fn is_settled(&self) -> bool {
        self.is_settled.load(Ordering::Relaxed)
    }

    pub(super) fn settle(&self) {
        self.is_settled.store(true, Ordering::Relaxed);
    }

    pub(super) fn case(&self) -> Option<Case> {
        self.case.lock().clone()
    }

    fn set(&self, case: &Case) {
        *self.case.lock() = Some(case.clone());
    }
}

/// Runs models, and keeps the smallest one that fails in the same way.
pub struct Checker<'a> {
    spec: &'a CheckSpec,
    hooks: &'a ReduceHooks<'a>,
    /// When the search ends.
    deadline: Option<Instant>,
    /// How long a check in another process may take.
    patience: Duration,
    /// How long the check of the whole model took.
    whole: Duration,
    directory: tempfile::TempDir,
    wanted: Option<Symptom>,
    /// Whether each model has to be one that the engine loads: a command may hold for anything.
    must_load: bool,
    doing: &'static str,
    operators: usize,
    checks: u64,
}

/// The least time that a check in another process may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// The least time that is allowed for checks after the time of the search.
const EXTENSION: Duration = Duration::from_secs(10);

/// How much longer than that of the whole model a check may take.
const LONGER: u32 = 5;

impl<'a> Checker<'a> {
    /// Creates a checker whose search ends after `budget`.
    ///
    /// # Errors
    /// Returns an error if there is no place for temporary files.
    pub fn new(spec: &'a CheckSpec, hooks: &'a ReduceHooks<'a>, budget: Option<Duration>) -> io::Result<Self> {
        Ok(Self {
            spec,
            hooks,
            deadline: budget.and_then(|budget| Instant::now().checked_add(budget)),
            patience: budget.unwrap_or(LONGEST),
            whole: Duration::ZERO,
            directory: tempfile::Builder::new().prefix("opscope-reduce-").tempdir()?,
            wanted: None,
            must_load: false,
            doing: "running the whole model",
            operators: 0,
            checks: 0,
        })
    }

    /// Runs the whole model. If it fails as requested, each later model has to fail in the same way.
    ///
    /// # Errors
    /// Returns the system's error if no process can be started, or no file written.
    pub fn begin(&mut self, whole: &Case) -> io::Result<Outcome> {
        self.operators = whole.operators();
        let start = Instant::now();
        let outcome = self.outcome(whole)?;
        self.whole = start.elapsed();
        self.patience = PATIENCE.max(self.whole * LONGER);
        if let Outcome::Fails(failure) = &outcome {
            self.must_load = matches!(self.spec.fails, Fails::Command(_)) && inside::loads(whole, self.spec);
            self.wanted = Some(failure.symptom.clone());
            self.hooks.best.set(whole);
        }
        Ok(outcome)
    }

    /// Sets what is tried from now on, for the progress.
    pub fn enter(&mut self, doing: &'static str) {
        self.doing = doing;
    }

    /// Allows the time of a few more checks from now on, if the time is over before.
    pub fn extend(&mut self) {
        let end = Instant::now() + EXTENSION.max(self.whole * LONGER);
        self.deadline = self.deadline.map(|deadline| deadline.max(end));
    }

    /// Returns whether the search has to end: its time is over, or the user ended it.
    pub fn is_over(&self) -> bool {
        self.is_cancelled() || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Returns whether the user ended the search.
    pub fn is_cancelled(&self) -> bool {
        self.hooks.cancel.load(Ordering::Relaxed)
    }

    /// Returns how many models were run.
    pub fn checks(&self) -> u64 {
        self.checks
    }

    /// Returns whether a model fails in the same way as the whole one. It is the smallest one then. Returns `false` once
    /// the search has to end.
    pub fn fails(&mut self, case: &Case) -> bool {
        if self.is_over() || (self.must_load && !inside::loads(case, self.spec)) {
            return false;
        }
        let fails = match self.outcome(case) {
            Ok(Outcome::Fails(failure)) => Some(&failure.symptom) == self.wanted.as_ref(),
            Ok(Outcome::Otherwise(_)) | Err(_) => false,
        };
        if fails {
            self.operators = case.operators();
            self.hooks.best.set(case);
        }
        fails
    }

    /// Runs a model.
    ///
    /// # Errors
    /// Returns the system's error if no process can be started, or no file written.
    pub fn outcome(&mut self, case: &Case) -> io::Result<Outcome> {
        self.checks += 1;
        let progress = Progress { doing: self.doing, operators: self.operators, checks: self.checks };
        (self.hooks.progress)(&progress);
        let needs_process = self.spec.fails.is_of_a_process()
            || (matches!(self.spec.fails, Fails::Error(_)) && self.spec.engine.name == EngineName::OnnxRuntime);
        if !needs_process {
            return Ok(inside::outcome(case, self.spec));
        }
        let written = match WrittenCase::write_temporarily(case, self.directory.path()) {
            Ok(written) => written,
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                return Ok(Outcome::Otherwise(error.to_string()));
            }
            Err(error) => return Err(error),
        };
        let patience = match self.deadline {
            Some(deadline) => self.patience.min(deadline.saturating_duration_since(Instant::now()).max(PATIENCE)),
            None => self.patience,
        };
        apart::outcome(&written, self.spec, self.hooks, (patience, Some(self.hooks.cancel)))
    }

    /// Runs the files of a model in a new process, and returns whether it fails in the same way. The user cannot end this
    /// check.
    ///
    /// # Errors
    /// Returns the system's error if no process can be started.
    pub fn fails_in_a_new_process(&mut self, written: &WrittenCase) -> io::Result<bool> {
        self.checks += 1;
        let outcome = apart::outcome(written, self.spec, self.hooks, (self.patience, None))?;
        Ok(matches!(outcome, Outcome::Fails(failure) if Some(&failure.symptom) == self.wanted.as_ref()))
    }
}

/// Runs a model and its inputs once, and returns whether it fails.
///
/// # Errors
/// Returns the system's error if no process can be started, or no temporary file written.
pub(super) fn check_once(case: &Case, spec: &CheckSpec, hooks: &ReduceHooks<'_>) -> io::Result<Outcome> {
    if !spec.fails.is_of_a_process() {
        return Ok(inside::outcome(case, spec));
    }
    let directory = tempfile::Builder::new().prefix("opscope-reduce-").tempdir()?;
    let written = WrittenCase::write_temporarily(case, directory.path())?;
    apart::outcome(&written, spec, hooks, (LONGEST, Some(hooks.cancel)))
}

/// Long enough for a check that nobody limits.
const LONGEST: Duration = Duration::from_secs(24 * 3600);
