//! What each device did during a run, and why it waited.

use std::collections::{BTreeMap, HashMap};

use opscope_clock::Ticks;
use serde::Serialize;

use super::{Share, percent};
use crate::Recording;
use crate::interval::median;
use crate::recording::{DispatchFact, MarkerFact, RunFact, RunGroup, Span};

/// Where the time of a run goes on one device. The parts add up to the run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DeviceTimes {
    /// The device, such as `cuda:0`.
    pub device: String,
    /// What it is, such as `NVIDIA H100`. Empty if it is not known.
    pub model: String,
    /// The number of its dispatches in all runs, copies included.
    pub dispatches: u64,
    /// A kernel computes.
    pub busy: Share,
    /// Only kernels of communication between devices run.
    pub communication: Share,
    /// Only memory is copied or set.
    pub copies: Share,
    /// Nothing runs, but the next kernel is launched: it waits in the queue, or for another one.
    pub gaps: Share,
    /// Nothing runs, and the host has not launched the next kernel yet.
    pub host_bound: Share,
    /// Nothing runs, and nothing follows in this run.
    pub idle: Share,
    /// The median time from the beginning of the call that launches to the beginning of the kernel; `None` if no call is
    /// known.
    pub launch_median_ns: Option<f64>,
}

/// What work on a device is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Work {
    Kernel,
    Communication,
    Copy,
}

/// How the kernels of libraries for communication begin.
const COMMUNICATION: [&str; 4] = ["nccl", "rccl", "hccl", "oneccl"];
/// How the names of copies begin, in traces of all tools.
const COPIES: [&str; 2] = ["memcpy", "memset"];

impl Work {
    fn of(kernel: &str) -> Self {
        let begins = |word: &&str| kernel.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
        match () {
            () if COMMUNICATION.iter().any(&begins) => Self::Communication,
            () if COPIES.iter().any(&begins) => Self::Copy,
            () => Self::Kernel,
        }
    }
}

/// The nanoseconds of each part of one run.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Parts {
    run: f64,
    busy: f64,
    communication: f64,
    copies: f64,
    gaps: f64,
    host_bound: f64,
    idle: f64,
}

/// A piece of work on a device.
#[derive(Debug, Clone, Copy)]
struct Piece {
    span: Span,
    work: Work,
    launched: Option<Ticks>,
}

/// Adds up what the devices do.
#[derive(Default)]
pub(super) struct DevicesBuilder {
    /// The calls of the run that is being read, by correlation.
    launches: HashMap<u64, Ticks>,
    devices: BTreeMap<u32, OfDevice>,
}

#[derive(Default)]
struct OfDevice {
    /// The parts of each run that counts.
    runs: Vec<Parts>,
    dispatches: u64,
    /// Work that was launched in an earlier run and may reach into the next one.
    earlier: Vec<Piece>,
    launch_nanos: Vec<f64>,
}

/// The most times between launch and kernel that are kept for the median.
const MOST_LAUNCHES: usize = 1 << 20;
/// The most calls that are kept until their run ends.
const MOST_CALLS: usize = 4 << 20;

impl DevicesBuilder {
    /// Takes a range, which may be a call that launches something.
    pub fn marker(&mut self, marker: &MarkerFact) {
        let id = marker.correlation.internal.0;
        if id != 0 && self.launches.len() < MOST_CALLS {
            // Of a call of the runtime and the driver's in it, the outer one comes first.
            self.launches.entry(id).or_insert(marker.span.start);
        }
    }

    /// Takes a run.
    pub fn run(&mut self, recording: &Recording, group: &RunGroup, counts: bool) {
        let Some(imported) = recording.manifest().imported.as_ref() else { return };
        let Some(run) = group.record.filter(|_| !imported.devices.is_empty()) else { return };
        let mut pieces: BTreeMap<u32, Vec<Piece>> =
            imported.devices.iter().map(|one| (one.device, Vec::new())).collect();
        for dispatch in group.dispatches.iter().filter(|dispatch| dispatch.device != 0) {
            pieces.entry(dispatch.device).or_default().push(self.piece(recording, dispatch));
        }
        for (device, new) in pieces {
            let of = self.devices.entry(device).or_default();
            if counts {
                of.dispatches += new.len() as u64;
                let launch =
                    |piece: &Piece| piece.launched.map(|at| recording.calibration().nanos(at, piece.span.start));
                let room = MOST_LAUNCHES.saturating_sub(of.launch_nanos.len());
                of.launch_nanos.extend(new.iter().filter_map(launch).take(room));
            }
            of.earlier.extend(new);
            of.earlier.sort_by_key(|piece| piece.span.start);
            if counts {
                let nanos = |start, end| recording.calibration().nanos(start, end);
                of.runs.push(parts(&run, &of.earlier, nanos));
            }
            of.earlier.retain(|piece| piece.span.end > run.span.end);
        }
        self.launches.clear();
    }

    fn piece(&self, recording: &Recording, dispatch: &DispatchFact) -> Piece {
        let name = recording.kernel(dispatch.plan, dispatch.kernel).map_or("", |kernel| kernel.name.as_str());
        let launched = self.launches.get(&dispatch.correlation.internal.0).copied();
        Piece { span: dispatch.span, work: Work::of(name), launched }
    }

    /// Returns the devices in the order of their numbers.
    pub fn finish(self, recording: &Recording) -> Vec<DeviceTimes> {
        let infos = recording.manifest().imported.iter().flat_map(|imported| &imported.devices);
        let infos: BTreeMap<u32, _> = infos.map(|info| (info.device, info)).collect();
        let times = |(number, mut of): (u32, OfDevice)| {
            let total: f64 = of.runs.iter().map(|parts| parts.run).sum();
            let share = |part: fn(&Parts) -> f64| {
                let sum: f64 = of.runs.iter().map(part).sum();
                Share {
                    total_ns: sum,
                    mean_ns: sum / of.runs.len().max(1) as f64,
                    median_ns: median(&mut of.runs.iter().map(part).collect::<Vec<_>>()),
                    percent: percent(sum, total),
                }
            };
            let (busy, communication) = (share(|parts| parts.busy), share(|parts| parts.communication));
            let (copies, gaps) = (share(|parts| parts.copies), share(|parts| parts.gaps));
            let (host_bound, idle) = (share(|parts| parts.host_bound), share(|parts| parts.idle));
            DeviceTimes {
                device: infos.get(&number).map_or_else(|| format!("device {number}"), |info| info.name.clone()),
                model: infos.get(&number).map(|info| info.model.clone()).unwrap_or_default(),
                dispatches: of.dispatches,
                busy,
                communication,
                copies,
                gaps,
                host_bound,
                idle,
                launch_median_ns: (!of.launch_nanos.is_empty()).then(|| median(&mut of.launch_nanos)),
            }
        };
        self.devices.into_iter().filter(|(_, of)| !of.runs.is_empty()).map(times).collect()
    }
}

/// Divides a run: every moment of it is in exactly one part. The pieces are in the order of their beginnings.
fn parts(run: &RunFact, pieces: &[Piece], nanos: impl Fn(Ticks, Ticks) -> f64) -> Parts {
    let Span { start, end } = run.span;
    let within = |at: Ticks| at.clamp(start, end);
    let mut parts = Parts { run: nanos(start, end), ..Parts::default() };
    // The moments at which something begins or ends, with what changes.
    let mut edges: Vec<(Ticks, Work, i32)> = Vec::with_capacity(2 * pieces.len());
    for piece in pieces {
        let (from, until) = (within(piece.span.start), within(piece.span.end));
        if from < until {
            edges.push((from, piece.work, 1));
            edges.push((until, piece.work, -1));
        }
    }
    edges.sort_by_key(|(at, ..)| *at);
    let mut running = [0i32; 3];
    let mut at = start;
    let mut next = 0;
    for (moment, work, change) in edges {
        let passed = nanos(at, moment);
        if running[Work::Kernel as usize] > 0 {
            parts.busy += passed;
        } else if running[Work::Communication as usize] > 0 {
            parts.communication += passed;
        } else if running[Work::Copy as usize] > 0 {
            parts.copies += passed;
        } else {
            while pieces.get(next).is_some_and(|piece| piece.span.start < moment) {
                next += 1;
            }
            let launched = pieces.get(next).and_then(|piece| piece.launched).unwrap_or(at).clamp(at, moment);
            parts.host_bound += nanos(at, launched);
            parts.gaps += nanos(launched, moment);
        }
        running[work as usize] += change;
        at = moment;
    }
    parts.idle = nanos(at, end);
    parts
}

#[cfg(test)]
mod tests {
    use opscope_trace::Correlation;

    use super::*;
    use crate::recording::RunKind;

    fn run(start: u64, end: u64) -> RunFact {
        RunFact {
            run: 0,
            plan: 0,
            thread: 1,
            span: span(start, end),
            upload: None,
            download: None,
            correlation: Correlation::default(),
            kind: RunKind::Measured,
            failed: false,
        }
    }

    fn span(start: u64, end: u64) -> Span {
        Span { start: Ticks::from_raw(start), end: Ticks::from_raw(end) }
    }

    fn piece(start: u64, end: u64, work: Work, launched: Option<u64>) -> Piece {
        Piece { span: span(start, end), work, launched: launched.map(Ticks::from_raw) }
    }

    fn divided(pieces: &[Piece]) -> [f64; 6] {
        let parts = parts(&run(100, 200), pieces, |from, until| (until.as_raw() - from.as_raw()) as f64);
        let all = [parts.busy, parts.communication, parts.copies, parts.gaps, parts.host_bound, parts.idle];
        assert_eq!(all.iter().sum::<f64>(), 100.0, "{parts:?}");
        all
    }

    #[test]
    fn every_moment_of_a_run_is_in_one_part() {
        use Work::{Communication, Copy, Kernel};
        assert_eq!(divided(&[]), [0.0, 0.0, 0.0, 0.0, 0.0, 100.0]);
        // It was launched at 105 and began at 110; the next one was launched at 140, ten after the first one's end.
        let two = [piece(110, 130, Kernel, Some(105)), piece(145, 150, Kernel, Some(140))];
        assert_eq!(divided(&two), [25.0, 0.0, 0.0, 10.0, 15.0, 50.0]);
        // What overlaps counts once, and computing before the rest.
        let three = [piece(100, 120, Communication, None), piece(110, 140, Kernel, None), piece(130, 200, Copy, None)];
        assert_eq!(divided(&three), [30.0, 10.0, 60.0, 0.0, 0.0, 0.0]);
        // Work of an earlier run reaches into this one, and of this one beyond its end.
        assert_eq!(
            divided(&[piece(50, 110, Kernel, None), piece(190, 300, Kernel, Some(90))]),
            [20.0, 0.0, 0.0, 80.0, 0.0, 0.0]
        );
    }

    #[test]
    fn copies_and_communication_are_known_by_the_names_of_their_kernels() {
        let works =
            ["Memcpy HtoD (Pageable -> Device)", "memset", "ncclDevKernel_AllReduce", "gemm", "mem"].map(Work::of);
        assert_eq!(works, [Work::Copy, Work::Copy, Work::Communication, Work::Kernel, Work::Kernel]);
    }
}
