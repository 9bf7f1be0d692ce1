//! Commands about breakpoints and about which events are shown.

use std::sync::atomic::Ordering;

use anyhow::Result;
use opscope::debug::{BreakpointChange, BreakpointId, BreakpointInfo, BreakpointSpec, ErrorCode, EventSet, Target};
use opscope::onnx::Pattern;
use opscope::text::did_you_mean;
use serde_json::json;

use super::Console;
use crate::debug::show;
use crate::debug::show::first_line;

impl Console {
    pub(super) fn add_breakpoint(&mut self, spec: BreakpointSpec) -> Result<()> {
        let target = spec.target.clone();
        let info = self.client.add_breakpoint(spec).map_err(|error| match error.code() {
            ErrorCode::NoSuchOperator => self.with_nearest(&target, error.into()),
            _ => error.into(),
        })?;
        self.report_breakpoint(&info);
        if info.spec.condition.is_some() {
            self.conditional.insert(info.id);
        }
        Ok(())
    }

    /// Makes runs that fail stay stopped where they failed.
    pub(super) fn catch_errors(&mut self) -> Result<()> {
        self.inbox.hold_failures.store(true, Ordering::Relaxed);
        self.output.result("caught", json!({ "what": "error" }), "Runs that fail stop where they failed.");
        Ok(())
    }

    pub(super) fn set_condition(&mut self, breakpoint: BreakpointId, condition: String) -> Result<()> {
        let change = BreakpointChange { condition: Some(condition), ..BreakpointChange::default() };
        let info = self.client.change_breakpoint(breakpoint, change)?;
        self.report_breakpoint(&info);
        // If there is an error already, it belongs to the earlier condition.
        match info.condition_error {
            Some(_) => self.conditional.remove(&breakpoint),
            None => self.conditional.insert(breakpoint),
        };
        Ok(())
    }

    pub(super) fn ignore(&mut self, breakpoint: BreakpointId, hits: u64) -> Result<()> {
        let change = BreakpointChange { ignore: Some(hits), ..BreakpointChange::default() };
        let info = self.client.change_breakpoint(breakpoint, change)?;
        self.report_breakpoint(&info);
        Ok(())
    }

    pub(super) fn enable(&mut self, breakpoints: Vec<BreakpointId>, enabled: bool) -> Result<()> {
        for breakpoint in self.or_all(breakpoints)? {
            let change = BreakpointChange { enabled: Some(enabled), ..BreakpointChange::default() };
            let info = self.client.change_breakpoint(breakpoint, change)?;
            self.report_breakpoint(&info);
        }
        Ok(())
    }

    pub(super) fn delete(&mut self, breakpoints: Vec<BreakpointId>) -> Result<()> {
        for breakpoint in self.or_all(breakpoints)? {
            self.client.remove_breakpoint(breakpoint)?;
            self.output.result(
                "deleted",
                json!({ "breakpoint": breakpoint }),
                format!("Breakpoint {breakpoint} deleted"),
            );
        }
        Ok(())
    }

    pub(super) fn list_breakpoints(&self) -> Result<()> {
        let breakpoints = self.client.breakpoints()?;
        let lines = breakpoints.iter().map(|info| {
            let hits = match (info.hits, info.spec.ignore) {
                (0, 0) => String::new(),
                (hits, 0) => show::count(hits, "hit"),
                (hits, ignore) => format!("{}, {ignore} more pass", show::count(hits, "hit")),
            };
            let state = match (info.spec.enabled, info.spec.one_shot) {
                (false, _) => "off",
                (true, true) => "once",
                (true, false) => "on",
            };
            let error =
                info.condition_error.as_ref().map(|error| format!("! {}", first_line(error))).unwrap_or_default();
            [info.id.to_string(), state.to_owned(), show::breakpoint(info), hits, error]
        });
        let text = match breakpoints.is_empty() {
            true => "There are no breakpoints.".to_owned(),
            false => {
                let lines = show::table(lines);
                let with_mappings = lines
                    .lines()
                    .zip(&breakpoints)
                    .flat_map(|(line, info)| std::iter::once(line.to_owned()).chain(show::mappings(info)));
                with_mappings.collect::<Vec<_>>().join("\n")
            }
        };
        self.output.result("breakpoints", json!({ "breakpoints": breakpoints }), text);
        Ok(())
    }

    /// Sets which events are shown, if any are given, and reports the choice.
    pub(super) fn events(&mut self, events: Option<EventSet>) -> Result<()> {
        if let Some(events) = events {
            self.client.subscribe(super::super::subscribed(events, self.debuggee.is_some()))?;
            self.shown = events;
            self.inbox.show(events);
        }
        let names: Vec<&str> =
            self.shown.iter().filter(|name| !EventSet::ALWAYS.contains(*name)).map(|name| name.as_str()).collect();
        let text = match names.is_empty() {
            true => "Shown: stops only".to_owned(),
            false => format!("Shown: stops, {}", names.join(", ")),
        };
        self.output.result("events", json!({ "events": names }), text);
        Ok(())
    }

    /// Reports, once for each breakpoint, that its condition could not be evaluated. Such a breakpoint stops no run.
    pub(super) fn report_condition_errors(&mut self) {
        if self.conditional.is_empty() {
            return;
        }
        // An error means that the program is gone, which is reported elsewhere.
        for info in self.client.breakpoints().unwrap_or_default() {
            if let Some(error) = &info.condition_error
                && self.conditional.remove(&info.id)
            {
                let fields = json!({ "breakpoint": info.id, "reason": error });
                let reason = first_line(error);
                let text = format!("note: the condition of breakpoint {} cannot be evaluated: {reason}", info.id);
                self.output.result("trouble", fields, text);
            }
        }
    }

    fn or_all(&self, breakpoints: Vec<BreakpointId>) -> Result<Vec<BreakpointId>> {
        if breakpoints.is_empty() {
            return Ok(self.client.breakpoints()?.iter().map(|info| info.id).collect());
        }
        Ok(breakpoints)
    }

    fn report_breakpoint(&self, info: &BreakpointInfo) {
        let state = if info.spec.enabled { "" } else { " (off)" };
        let mut text = format!("Breakpoint {}{state} {}", info.id, show::breakpoint(info));
        for line in show::mappings(info) {
            text.push('\n');
            text.push_str(&line);
        }
        self.output.result("breakpoint", json!({ "breakpoint": info }), text);
    }

    /// Adds to an error about a target the operator that was probably meant.
    pub(super) fn with_nearest(&self, target: &Target, error: anyhow::Error) -> anyhow::Error {
        if let (Target::Index(_), Ok(model)) = (target, self.model())
            && let Ok(rows) = self.client.operators(model, "*", 0, 0)
            && rows.total > 0
        {
            return anyhow::anyhow!("{error}; the model has #0 to #{}", rows.total - 1);
        }
        let (Target::Name(Pattern::Exact(name))
        | Target::Type(Pattern::Exact(name))
        | Target::NameOrType(Pattern::Exact(name))) = target
        else {
            return error;
        };
        let Ok(model) = self.model() else { return error };
        let rows = self.client.operators(model, "*", 0, usize::MAX).map(|rows| rows.operators).unwrap_or_default();
        let words = rows.iter().flat_map(|row| [row.name.as_str(), row.op_type.as_str()]);
        match did_you_mean(name, words) {
            Some(near) if !error.to_string().contains("there is") => {
                anyhow::anyhow!("{error}; did you mean '{near}'?")
            }
            _ => error,
        }
    }
}
