//! The times of kernels in optimised runs: the library profiles single runs, each into its own file.

mod directory;
mod event;
mod kernel_events;

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufReader};
use std::sync::OnceLock;

use opscope_clock::{Calibration, ClockPair, Ticks};
use opscope_model::{Interest, KernelId, RunObserver};

use self::directory::ProfileDirectory;
pub(crate) use self::directory::ProfilePath;
use self::kernel_events::{KernelEvents, RunEvents};
use crate::attribution::Node;
use crate::errors::Refusal;

/// How much of a profile is read at once.
const READ_AT_ONCE: usize = 256 << 10;

/// Reads the times of a model's kernels from the library's profiles.
pub(crate) struct KernelTimes {
    events: KernelEvents,
    directory: OnceLock<Result<ProfileDirectory, Refusal>>,
    /// An early point in time, so that the tick rate is known well by the end of the first run.
    since: ClockPair,
    calibration: OnceLock<Calibration>,
}

impl KernelTimes {
    /// Creates it for these nodes. `inner_names` are those of nodes in bodies.
    pub fn new(nodes: &[Node], inner_names: &HashSet<String>) -> Self {
        Self {
            events: KernelEvents::new(nodes, inner_names),
            directory: OnceLock::new(),
            since: ClockPair::now(),
            calibration: OnceLock::new(),
        }
    }

    /// Returns the path to which the library writes the profile of a run.
    ///
    /// # Errors
    /// Returns an error if there is no directory for temporary files.
    pub fn profile(&self) -> Result<ProfilePath<'_>, Refusal> {
        let create = || {
            let place = std::env::temp_dir();
            ProfileDirectory::create().map_err(|error| {
                format!("the profile of a run cannot be written to {}: {error}", place.display()).into()
            })
        };
        self.directory.get_or_init(create).as_ref().map(ProfileDirectory::next).map_err(Clone::clone)
    }

    /// Reports the times of a run that began at `start` and returned at `returned`, from its profile. Returns when the
    /// library ran the model; the library's extra work for the profile is reported as such.
    pub fn report(
        &self,
        profile: &ProfilePath<'_>,
        (start, returned): (Ticks, Ticks),
        interest: &Interest,
        kernels: usize,
        observer: &dyn RunObserver,
    ) -> (Ticks, Ticks) {
        let read = profile.open().and_then(|file| self.read(file));
        // If it could not be read, the times of all kernels are lost.
        let events = read.unwrap_or_default();
        let clock = Clock::new(self.calibration(), &events, (start, returned));
        for time in &events.kernels {
            let (began, ended) = (clock.ticks(time.start), clock.ticks(time.end));
            report_kernel(time.kernel, (began, ended), interest, observer);
        }
        let untimed = kernels.saturating_sub(events.kernels.len());
        if interest.times && untimed > 0 {
            observer.untimed(untimed as u64);
        }
        if interest.times {
            observer.profiled(clock.end, Ticks::now());
        }
        (start, clock.end)
    }

    fn read(&self, file: File) -> io::Result<RunEvents> {
        self.events.read(BufReader::with_capacity(READ_AT_ONCE, file))
    }

    fn calibration(&self) -> &Calibration {
        self.calibration.get_or_init(|| Calibration::since(self.since))
    }
}

fn report_kernel(kernel: KernelId, (start, end): (Ticks, Ticks), interest: &Interest, observer: &dyn RunObserver) {
    if interest.starts {
        observer.started(kernel, &[]);
    }
    if interest.times {
        observer.timed(kernel, &[], start, end);
    }
}

/// Converts the microseconds of a profile into ticks: the library's own run begins when it is called.
struct Clock {
    start: Ticks,
    end: Ticks,
    /// The microseconds at `start`.
    first: u64,
    ticks_per_micro: f64,
}

impl Clock {
    fn new(calibration: &Calibration, events: &RunEvents, (start, returned): (Ticks, Ticks)) -> Self {
        let ticks_per_micro = 1_000.0 / calibration.nanos_per_tick();
        let begun = || events.kernels.iter().map(|time| time.start).min();
        let first = events.run.map(|(start, _)| start).or_else(begun).unwrap_or(0);
        let mut clock = Self { start, end: returned, first, ticks_per_micro };
        if let Some((_, end)) = events.run {
            clock.end = clock.ticks(end);
        }
        clock
    }

    /// Returns the ticks of a time in the profile, limited to the run.
    fn ticks(&self, micros: u64) -> Ticks {
        let distance = micros.saturating_sub(self.first) as f64 * self.ticks_per_micro;
        let ticks = self.start.as_raw().saturating_add(distance as u64);
        Ticks::from_raw(ticks.min(self.end.as_raw()))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Mutex;

    use super::*;

    /// Records what an engine reports.
    #[derive(Default)]
    struct Notes(Mutex<Reported>);

    #[derive(Default)]
    struct Reported {
        timed: Vec<(usize, u64, u64)>,
        started: usize,
        untimed: u64,
        profiled: Vec<(u64, u64)>,
    }

    impl RunObserver for Notes {
        fn interest(&self) -> Interest {
            Interest { times: true, starts: true, ..Interest::default() }
        }

        fn started(&self, _: KernelId, _: &[opscope_model::Iteration]) {
            self.0.lock().expect("no panic").started += 1;
        }

        fn timed(&self, kernel: KernelId, _: &[opscope_model::Iteration], start: Ticks, end: Ticks) {
            self.0.lock().expect("no panic").timed.push((kernel.index(), start.as_raw(), end.as_raw()));
        }

        fn untimed(&self, dispatches: u64) {
            self.0.lock().expect("no panic").untimed += dispatches;
        }

        fn profiled(&self, start: Ticks, end: Ticks) {
            self.0.lock().expect("no panic").profiled.push((start.as_raw(), end.as_raw()));
        }
    }

    /// Reports a run of 10 ms with two kernels, whose profile has these events.
    fn reported(events: Option<&str>) -> (Reported, (u64, u64), (u64, u64)) {
        let node = |name: &str| Node { name: name.to_owned(), op_type: "Relu".to_owned(), ..Node::default() };
        let times = KernelTimes::new(&[node("a"), node("b")], &HashSet::new());
        let profile = times.profile().expect("a temporary directory");
        if let Some(events) = events {
            fs::write(format!("{}_1.json", profile.prefix()), events).expect("room");
        }
        let nanos_per_tick = times.calibration().nanos_per_tick();
        let start = Ticks::now().as_raw();
        let called = (start, start + (10e6 / nanos_per_tick) as u64);
        let observer = Notes::default();
        let raw = (Ticks::from_raw(called.0), Ticks::from_raw(called.1));
        let ran = times.report(&profile, raw, &observer.interest(), 2, &observer);
        (observer.0.into_inner().expect("no panic"), called, (ran.0.as_raw(), ran.1.as_raw()))
    }

    const RUN: &str = r#"{"cat" : "Session","dur" :100,"ts" :1000,"name" :"model_run","args" : {}}"#;
    const A: &str = r#"{"cat" : "Node","dur" :20,"ts" :1010,"name" :"a_kernel_time","args" : {}}"#;
    const B: &str = r#"{"cat" : "Node","dur" :90,"ts" :1040,"name" :"b_kernel_time","args" : {}}"#;

    #[test]
    fn kernels_lie_within_the_run_and_the_rest_of_the_call_is_the_profile() {
        let (reported, called, ran) = reported(Some(&format!("[\n{A},\n{B},\n{RUN}\n]")));
        assert_eq!(ran.0, called.0);
        assert!(ran.1 < called.1, "the library's own run is shorter than the call");
        assert_eq!((reported.timed.len(), reported.started, reported.untimed), (2, 2, 0));
        let micros = |ticks: u64| (ticks * 100 + (ran.1 - ran.0) / 2) / (ran.1 - ran.0);
        assert_eq!(micros(reported.timed[0].1 - ran.0), 10);
        assert_eq!(micros(reported.timed[0].2 - ran.0), 30);
        assert_eq!(reported.timed[1].2, ran.1, "a kernel that ends after the run was rounded");
        assert_eq!(reported.profiled.len(), 1);
        assert_eq!(reported.profiled[0].0, ran.1);
    }

    #[test]
    fn events_that_the_library_did_not_write_are_reported_as_lost() {
        assert_eq!(reported(Some(&format!("[\n{B},\n{RUN}\n]"))).0.untimed, 1);
        assert_eq!(reported(Some("[\n")).0.untimed, 2);
        let (reported, called, ran) = reported(None);
        assert_eq!((reported.untimed, ran), (2, called), "no profile was written");
    }
}
