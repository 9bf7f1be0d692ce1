//! One run in full: what each thread did, and when.

use std::collections::BTreeMap;

use opscope_profile::{Item, MarkerFact, Recording, RunGroup, Span};
use opscope_trace::MarkerOperation;

use crate::ReportError;

/// One run. All times are in nanoseconds since its beginning. That is the beginning of its upload, if that was
/// recorded.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Timeline {
    /// The number of the run.
    pub run: u64,
    /// From the beginning of its upload to the end of its download.
    pub nanos: f64,
    /// From the beginning to the end of the engine's run.
    pub engine: (f64, f64),
    /// The rows. Those of one thread are adjacent.
    pub lanes: Vec<Lane>,
    /// How many dispatches the run has.
    pub dispatches: usize,
}

/// A row of a timeline with consecutive slots.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Lane {
    /// The thread, or the content of the row.
    pub name: String,
    /// What happened, by time.
    pub slots: Vec<Slot>,
}

/// A period in which something happened.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Slot {
    pub start: f64,
    pub nanos: f64,
    pub what: SlotContent,
}

/// What happened in a slot.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum SlotContent {
    /// An operator.
    Operator {
        /// Its name for people, or the kernel's name if the engine added it.
        name: String,
        /// Its type.
        op_type: String,
        /// The name of the engine's operator.
        kernel: String,
        /// How many more operators the kernel stands for.
        fused: usize,
    },
    /// Consecutive short dispatches, merged because the run has too many.
    Several(usize),
    /// Nothing was executed.
    Gap,
    /// Inputs were copied to the engine.
    Upload,
    /// Outputs were copied from the engine.
    Download,
    /// A range of the user's code.
    Range(String),
    /// A mark of the user's code.
    Mark(String),
}

/// How many slots of dispatches a page shows at most. If a run has more, the longest remain single.
const MOST_SLOTS: usize = 3_000;
/// How many ranges and marks a page shows at most.
const MOST_MARKS: usize = 500;

impl Timeline {
    /// Describes a run. `marks` are those during the run.
    pub(crate) fn new(recording: &Recording, group: &RunGroup, marks: &[MarkerFact]) -> Option<Self> {
        let run = group.record?;
        let window = window(group)?;
        let at = |span: Span| Times::new(recording, window, span);
        let mut lanes: Vec<Lane> = Vec::new();
        let mut threads: BTreeMap<u32, Vec<(Times, SlotContent)>> = BTreeMap::new();
        for dispatch in &group.dispatches {
            let what = match recording.kernel(dispatch.plan, dispatch.kernel) {
                Some(names) => SlotContent::Operator {
                    name: names.display_name().to_owned(),
                    op_type: names.op_type.clone(),
                    kernel: names.op.clone(),
                    fused: names.fused.len(),
                },
                None => SlotContent::Operator {
                    name: format!("kernel {} of plan {}", dispatch.kernel, dispatch.plan),
                    op_type: "?".to_owned(),
                    kernel: "?".to_owned(),
                    fused: 0,
                },
            };
            threads.entry(dispatch.thread).or_default().push((at(dispatch.span), what));
        }
        let copies = [(run.upload, SlotContent::Upload), (run.download, SlotContent::Download)];
        let copies = copies.into_iter().filter_map(|(span, what)| Some((at(span?), what)));
        threads.entry(run.thread).or_default().extend(copies);
        for (thread, mut slots) in threads {
            slots.sort_by(|(a, _), (b, _)| a.start.total_cmp(&b.start));
            let name = thread_label(recording.thread_name(thread), thread);
            let rows = in_rows(slots);
            let several = rows.len() > 1;
            for (depth, row) in rows.into_iter().enumerate() {
                // Between slots inside an operator, or beside one on another row, there are gaps that are not idle
                // time.
                let slots = if several || depth > 0 { row } else { with_gaps(row) };
                lanes.push(Lane { name: if depth == 0 { name.clone() } else { String::new() }, slots });
            }
        }
        lanes.iter_mut().for_each(|lane| lane.slots = shortened(std::mem::take(&mut lane.slots), MOST_SLOTS));
        lanes.extend(mark_lanes(recording, marks, at));
        let whole = at(window);
        let engine = at(run.span);
        let engine = (engine.start, engine.start + engine.nanos);
        Some(Self { run: group.run, nanos: whole.nanos, engine, lanes, dispatches: group.dispatches.len() })
    }
}

/// Returns the span in which a run is shown.
pub(crate) fn window(group: &RunGroup) -> Option<Span> {
    let run = group.record?;
    let spans = [Some(run.span), run.upload, run.download].into_iter().flatten();
    let dispatches = group.dispatches.iter().map(|dispatch| dispatch.span);
    spans.chain(dispatches).reduce(|a, b| Span { start: a.start.min(b.start), end: a.end.max(b.end) })
}

/// Returns the marks in a span, as many as a page can show.
pub(crate) fn marks_within(recording: &Recording, window: Span) -> Result<Vec<MarkerFact>, ReportError> {
    let mut marks = Vec::new();
    for item in recording.groups()? {
        if let Item::Other(opscope_profile::Fact::Marker(mark)) = item?
            && mark.span.start <= window.end
            && mark.span.end >= window.start
            && marks.len() < MOST_MARKS
        {
            marks.push(mark);
        }
    }
    Ok(marks)
}

#[derive(Clone, Copy)]
struct Times {
    start: f64,
    nanos: f64,
}

impl Times {
    /// Returns a span inside a window, in nanoseconds since the window's beginning.
    fn new(recording: &Recording, window: Span, span: Span) -> Self {
        let nanos = |start, end| recording.calibration().nanos(start, end).max(0.0);
        let (start, end) = (span.start.max(window.start), span.end.min(window.end));
        Self { start: nanos(window.start, start), nanos: nanos(start, end) }
    }
}

/// Returns what a thread is called, with its number.
fn thread_label(name: Option<&str>, thread: u32) -> String {
    match name {
        Some(name) => format!("{name} ({thread})"),
        None => format!("thread {thread}"),
    }
}

/// Distributes overlapping slots to rows: each goes into the first row that is free.
fn in_rows(slots: Vec<(Times, SlotContent)>) -> Vec<Vec<Slot>> {
    /// Readings of a coarse clock overlap by their resolution.
    const TOLERANCE_NS: f64 = 1.0;
    const MOST_ROWS: usize = 24;
    let mut rows: Vec<Vec<Slot>> = Vec::new();
    for (Times { start, nanos }, what) in slots {
        let is_free = |row: &Vec<Slot>| row.last().is_none_or(|last| last.start + last.nanos <= start + TOLERANCE_NS);
        let slot = Slot { start, nanos, what };
        match rows.iter().position(is_free) {
            Some(row) => rows[row].push(slot),
            None if rows.len() < MOST_ROWS => rows.push(vec![slot]),
            // A damaged file may contain anything.
            None => {}
        }
    }
    rows
}

/// Adds the gaps between slots.
fn with_gaps(slots: Vec<Slot>) -> Vec<Slot> {
    let mut all: Vec<Slot> = Vec::with_capacity(slots.len() * 2);
    for slot in slots {
        if let Some(before) = all.last() {
            let end = before.start + before.nanos;
            if slot.start - end >= 1.0 {
                all.push(Slot { start: end, nanos: slot.start - end, what: SlotContent::Gap });
            }
        }
        all.push(slot);
    }
    all
}

/// Merges the shortest slots of a lane with their neighbours, so that about `most` remain.
fn shortened(slots: Vec<Slot>, most: usize) -> Vec<Slot> {
    if slots.len() <= 2 * most {
        return slots;
    }
    let mut by_length: Vec<usize> = (0..slots.len()).collect();
    by_length.sort_by(|a, b| slots[*b].nanos.total_cmp(&slots[*a].nanos));
    let mut is_long = vec![false; slots.len()];
    by_length.iter().take(most / 2).for_each(|index| is_long[*index] = true);
    let mut kept: Vec<Slot> = Vec::new();
    for (slot, is_long) in slots.into_iter().zip(is_long) {
        let is_short = !is_long && matches!(slot.what, SlotContent::Operator { .. } | SlotContent::Gap);
        let dispatches = usize::from(slot.what != SlotContent::Gap);
        match kept.last_mut() {
            Some(Slot { start, nanos, what: SlotContent::Several(count) }) if is_short => {
                *nanos = slot.start + slot.nanos - *start;
                *count += dispatches;
            }
            _ if is_short => kept.push(Slot { what: SlotContent::Several(dispatches), ..slot }),
            _ => kept.push(slot),
        }
    }
    kept
}

fn mark_lanes(recording: &Recording, marks: &[MarkerFact], at: impl Fn(Span) -> Times) -> Vec<Lane> {
    let mut threads: BTreeMap<u32, Vec<(Times, SlotContent)>> = BTreeMap::new();
    for mark in marks {
        let name = recording.marker(mark.name).map_or_else(|| format!("marker {}", mark.name), str::to_owned);
        let what = match mark.operation {
            MarkerOperation::Mark => SlotContent::Mark(name),
            _ => SlotContent::Range(name),
        };
        threads.entry(mark.thread).or_default().push((at(mark.span), what));
    }
    let mut lanes = Vec::new();
    for (thread, mut slots) in threads {
        slots.sort_by(|(a, _), (b, _)| a.start.total_cmp(&b.start).then(b.nanos.total_cmp(&a.nanos)));
        for (depth, slots) in in_rows(slots).into_iter().enumerate() {
            let name = if depth == 0 {
                format!("marks of {}", thread_label(recording.thread_name(thread), thread))
            } else {
                String::new()
            };
            lanes.push(Lane { name, slots });
        }
    }
    lanes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operator(start: f64, nanos: f64) -> Slot {
        let what = SlotContent::Operator { name: "a".into(), op_type: "Add".into(), kernel: "add".into(), fused: 0 };
        Slot { start, nanos, what }
    }

    #[test]
    fn a_thread_is_called_by_its_name_and_number() {
        assert_eq!(thread_label(Some("worker"), 7), "worker (7)");
        assert_eq!(thread_label(None, 7), "thread 7");
    }

    #[test]
    fn what_overlaps_has_rows_of_its_own_and_gaps_are_shown() {
        let times = |start, nanos| (Times { start, nanos }, SlotContent::Upload);
        let rows = in_rows(vec![times(0.0, 10.0), times(2.0, 3.0), times(5.0, 2.0), times(10.0, 1.0)]);
        let starts: Vec<Vec<f64>> = rows.iter().map(|row| row.iter().map(|slot| slot.start).collect()).collect();
        assert_eq!(starts, [vec![0.0, 10.0], vec![2.0, 5.0]]);
        let slots = with_gaps(vec![operator(0.0, 10.0), operator(15.0, 5.0), operator(20.5, 1.0)]);
        assert_eq!(slots[1], Slot { start: 10.0, nanos: 5.0, what: SlotContent::Gap });
        assert_eq!(slots.len(), 4, "half a nanosecond is not a gap");
    }

    #[test]
    fn a_row_is_free_a_nanosecond_before_the_last_slot_ends() {
        let times = |start, nanos| (Times { start, nanos }, SlotContent::Upload);
        let rows = |start: f64| in_rows(vec![times(3.0, 10.0), times(start, 1.0)]).len();
        assert_eq!([11.0, 11.9, 12.0, 13.0].map(rows), [2, 2, 1, 1]);
        let many = (0..30).map(|_| times(0.0, 10.0)).collect();
        assert_eq!(in_rows(many).len(), 24);
        // A nanosecond is a gap.
        let gaps = |start: f64| with_gaps(vec![operator(5.0, 10.0), operator(start, 1.0)]);
        assert_eq!([15.0, 15.9, 16.0].map(|start| gaps(start).len()), [2, 2, 3]);
        assert_eq!(gaps(18.0)[1], Slot { start: 15.0, nanos: 3.0, what: SlotContent::Gap });
    }

    #[test]
    fn short_slots_beside_each_other_are_put_together_from_their_beginning_to_their_end() {
        // Of nine, which are more than twice four, the longest is kept. Of eight, all are kept.
        let slots = |number: usize| {
            let mut slots: Vec<Slot> = (0..number).map(|index| operator(index as f64 * 10.0, 5.0)).collect();
            (slots[4].nanos, slots[6].nanos) = (9.0, 8.0);
            slots[2].what = SlotContent::Gap;
            shortened(slots, 4)
        };
        assert_eq!(slots(8).len(), 8);
        let several =
            |start: f64, nanos: f64, dispatches| Slot { start, nanos, what: SlotContent::Several(dispatches) };
        let expected = [
            several(0.0, 35.0, 3),
            operator(40.0, 9.0),
            several(50.0, 5.0, 1),
            operator(60.0, 8.0),
            several(70.0, 15.0, 2),
        ];
        assert_eq!(slots(9), expected);
    }

    #[test]
    fn a_run_with_too_many_dispatches_keeps_the_longest_and_the_time_of_the_others() {
        let slots: Vec<Slot> = (0..20_000u32)
            .map(|index| operator(f64::from(index) * 10.0, if index.is_multiple_of(100) { 9.0 } else { 5.0 }))
            .collect();
        let kept = shortened(with_gaps(slots), 400);
        assert!(kept.len() < 900, "{}", kept.len());
        let long = kept.iter().filter(|slot| matches!(slot.what, SlotContent::Operator { .. })).count();
        let put_together: usize =
            kept.iter().map(|slot| if let SlotContent::Several(count) = slot.what { count } else { 0 }).sum();
        assert_eq!((long, put_together), (200, 19_800));
    }
}
