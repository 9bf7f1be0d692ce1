//! The events of a run.

use foldhash::HashMap;
use serde::Deserialize;

use super::run::{PLACE, Place, Run};
use crate::ImportError;
use crate::trace::assemble::Assembler;
use crate::trace::event::{Event, Track, What};
use crate::trace::names::{copy_name, is_marker_domain};
use crate::trace::sqlite::{Columns, Row};

/// The most moments that are kept for values of counters, which have none of their own.
const KEPT_MOMENTS: usize = 4 << 20;

/// The place of the first column behind those that say when and where.
const BEHIND: usize = PLACE.len();

impl Run<'_> {
    /// Calls, ranges and marks of threads.
    pub fn regions(&mut self, into: &mut Assembler) -> Result<(), ImportError> {
        self.each("rocpd_region", &["name_id", "event_id"], into, |run, row, (start, duration), place, into| {
            let event = row.int(BEHIND + 1);
            let about = event.and_then(|event| run.events.as_mut()?.find(event));
            let column = |column: usize| about.as_ref()?.get(column)?.as_deref();
            let category = run.text(column(2).and_then(|number| number.parse().ok())).unwrap_or_default();
            let is_marker = is_marker_domain(&category);
            // A range has the name of the function that began it; its own name is the message.
            let message = is_marker.then(|| column(3).and_then(message)).flatten();
            let name = message.or_else(|| run.text(row.int(BEHIND))).unwrap_or_else(|| "region without a name".into());
            let what = match (is_marker, duration) {
                (true, 0) => What::Mark,
                (true, _) => What::Range,
                (false, _) => What::Call,
            };
            let correlation = if is_marker { 0 } else { run.correlation(event, &place) };
            let track = run.thread(into, &place);
            into.add(&Event { what, name: &name, track, start, duration, correlation, external: 0, op: "", inputs: "" })
        })
    }

    pub fn kernels(&mut self, into: &mut Assembler) -> Result<(), ImportError> {
        let columns = ["agent_id", "kernel_id", "event_id"];
        self.each("rocpd_kernel_dispatch", &columns, into, |run, row, span, place, into| {
            let found = row.int(BEHIND + 1).and_then(|kernel| run.symbols.as_mut()?.find(kernel));
            let name = found.as_ref().and_then(|found| found.iter().flatten().next());
            let name = name.map_or("kernel without a name", |name| name);
            let track = run.stream(into, row.int(BEHIND).or(place.agent), &place);
            run.keep_moment(row.int(BEHIND + 2), span.0);
            run.device_work(What::Kernel, name, track, span, (row.int(BEHIND + 2), &place), into)
        })
    }

    pub fn copies(&mut self, into: &mut Assembler) -> Result<(), ImportError> {
        let columns = ["name_id", "dst_agent_id", "src_agent_id", "event_id"];
        self.each("rocpd_memory_copy", &columns, into, |run, row, span, place, into| {
            let name = run.text(row.int(BEHIND)).unwrap_or_default();
            // A copy is on the device's side: its target, or its source if the target is the host.
            let ends = [row.int(BEHIND + 1), row.int(BEHIND + 2), place.agent];
            let agent = ends.into_iter().find(|agent| run.is_device(*agent)).flatten();
            let track = run.stream(into, agent, &place);
            run.device_work(What::Copy, &copy_name(&name), track, span, (row.int(BEHIND + 3), &place), into)
        })
    }

    /// Moments, which are marks.
    pub fn samples(&mut self, into: &mut Assembler) -> Result<(), ImportError> {
        let Some(table) = self.table("rocpd_sample") else { return Ok(()) };
        let optional: Vec<&str> =
            PLACE.into_iter().chain(["timestamp", "timestamp_id", "name_id", "event_id"]).collect();
        let database = self.database;
        database.rows(&Columns { table, needed: &[], optional: &optional }, into, |row, into| {
            let time = row.int(BEHIND).and_then(|time| u64::try_from(time).ok());
            let Some(start) = time.or_else(|| self.moment(row.int(BEHIND + 1)?)) else {
                into.not_imported("sample without a time", "rocpd_sample");
                return Ok(());
            };
            let place = self.place(row, 0);
            self.keep_moment(row.int(BEHIND + 3), start);
            let name = self.text(row.int(BEHIND + 2).or(place.name)).unwrap_or_else(|| "sample".to_owned());
            let track = self.thread(into, &place);
            let what = What::Mark;
            into.add(&Event {
                what,
                name: &name,
                track,
                start,
                duration: 0,
                correlation: 0,
                external: 0,
                op: "",
                inputs: "",
            })
        })
    }

    /// Values of counters, at the moment of the kernel or sample to which they belong.
    pub fn counters(&mut self, into: &mut Assembler) -> Result<(), ImportError> {
        let Some(table) = self.table("rocpd_pmc_event") else { return Ok(()) };
        let mut counters: HashMap<i64, (String, String)> = HashMap::default();
        if let Some(table) = self.table("rocpd_info_pmc") {
            let columns = Columns { table, needed: &["id", "name"], optional: &["units"] };
            self.database.rows(&columns, into, |row, _| {
                if let (Some(id), Some(name)) = (row.int(0), row.text(1)) {
                    counters.insert(id, (name.into_owned(), row.text(2).unwrap_or_default().into_owned()));
                }
                Ok(())
            })?;
        }
        let columns = Columns { table, needed: &["event_id", "pmc_id", "value"], optional: &[] };
        let times = &self.times;
        self.database.rows(&columns, into, |row, into| {
            let time = row.int(0).and_then(|event| times.get(&event));
            let counter = row.int(1).and_then(|counter| counters.get(&counter));
            match (time, counter, row.real(2)) {
                (Some(&time), Some((name, unit)), Some(value)) => into.sample(name, unit, time, value),
                _ => {
                    into.not_imported("value without a time or counter", "rocpd_pmc_event");
                    Ok(())
                }
            }
        })
    }

    /// Reads a table of events with a begin and an end. What has none, or ends before it begins, is counted.
    fn each(
        &mut self,
        base: &'static str,
        columns: &[&str],
        into: &mut Assembler,
        mut take: impl FnMut(&mut Self, &Row<'_>, (u64, u64), Place, &mut Assembler) -> Result<(), ImportError>,
    ) -> Result<(), ImportError> {
        let Some(table) = self.table(base) else { return Ok(()) };
        let optional: Vec<&str> = PLACE.iter().chain(columns).copied().collect();
        let database = self.database;
        database.rows(&Columns { table, needed: &[], optional: &optional }, into, |row, into| {
            let Some(span) = self.span(row, 0) else {
                into.not_imported("event without a begin and an end in order", base);
                return Ok(());
            };
            let place = self.place(row, 0);
            take(self, row, span, place, into)
        })
    }

    fn device_work(
        &mut self,
        what: What,
        name: &str,
        track: Track,
        (start, duration): (u64, u64),
        (event, place): (Option<i64>, &Place),
        into: &mut Assembler,
    ) -> Result<(), ImportError> {
        let correlation = self.correlation(event, place);
        into.add(&Event { what, name, track, start, duration, correlation, external: 0, op: "", inputs: "" })
    }

    /// Keeps when an event happened, if the run has values of counters.
    fn keep_moment(&mut self, event: Option<i64>, time: u64) {
        if let Some(event) = event
            && self.table("rocpd_pmc_event").is_some()
            && self.times.len() < KEPT_MOMENTS
        {
            self.times.insert(event, time);
        }
    }
}

/// Returns the message of a range.
fn message(data: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Data {
        message: Option<String>,
    }
    serde_json::from_str::<Data>(data).ok()?.message.filter(|message| !message.is_empty())
}
