//! Walks over what the threads of the host did: which operator, module and run each event is in.

use std::io;

use super::kernels::{KernelName, Kernels};
use super::names::NameNumber;
use super::rows::{EventRow, OUTSIDE, Origin, RecordRow, record_of};
use super::runs::Runs;
use super::scopes::{Scope, ScopeOf, Scopes};
use super::sorter::Sorter;
use super::tracks::{TrackOf, Tracks};
use crate::trace::event::What;

/// What the walk over the host leaves for the devices and the file.
pub(super) struct HostWalk<'a> {
    pub scopes: &'a mut Scopes,
    pub kernels: &'a mut Kernels,
    pub records: &'a mut Sorter<RecordRow>,
    /// The calls, by their correlations, and the operators, by their external ids. Only for traces with devices.
    pub by_correlation: Sorter<Origin>,
    pub by_external: Sorter<Origin>,
    tracks: &'a Tracks,
    runs: &'a Runs,
    has_devices: bool,
    track: u32,
    /// The events around the current one, outermost first.
    around: Vec<Around>,
}

#[derive(Clone, Copy)]
struct Around {
    end: u64,
    scope: Scope,
}

impl<'a> HostWalk<'a> {
    pub fn new(
        (scopes, kernels): (&'a mut Scopes, &'a mut Kernels),
        records: &'a mut Sorter<RecordRow>,
        (tracks, runs): (&'a Tracks, &'a Runs),
        has_devices: bool,
        scratch: &std::path::Path,
    ) -> Self {
        Self {
            scopes,
            kernels,
            records,
            by_correlation: Sorter::new(scratch),
            by_external: Sorter::new(scratch),
            tracks,
            runs,
            has_devices,
            track: u32::MAX,
            around: Vec::new(),
        }
    }

    /// Takes the next event of a track. They come in the order of their beginnings, and an outer one before those in it.
    pub fn event(&mut self, event: &EventRow, is_step: bool) -> io::Result<()> {
        if event.track != self.track {
            self.track = event.track;
            self.around.clear();
        }
        while self.around.last().is_some_and(|around| around.end <= event.start) {
            self.around.pop();
        }
        let outside = self.around.last().map_or(Scope::default(), |around| around.scope);
        let name = NameNumber(event.name);
        let scope = if is_step { outside } else { self.scope(outside, event, name) };
        let run = match self.tracks.of(crate::trace::event::Track(event.track)) {
            TrackOf::Thread { process, .. } => self.runs.at(process, event.start),
            TrackOf::Stream { .. } => OUTSIDE,
        };
        self.remember_origin(event, scope, run)?;
        let record = self.record(event, scope, run);
        self.records.push(record)?;
        if event.end > event.start {
            self.around.push(Around { end: event.end, scope });
        }
        Ok(())
    }

    fn scope(&mut self, outside: Scope, event: &EventRow, name: NameNumber) -> Scope {
        let of = |what: What| what as u32 == event.what;
        if of(What::Operator) {
            let scope = self.scopes.within(outside, ScopeOf::Operator, name);
            if !self.has_devices {
                self.kernels.of_operator(scope, KernelName::of(event));
            }
            scope
        } else if of(What::Module) || of(What::Range) {
            let name = if event.op == 0 { name } else { NameNumber(event.op) };
            self.scopes.within(outside, ScopeOf::Module, name)
        } else {
            outside
        }
    }

    /// Stores where a call or an operator was made, for the work on a device that has its id.
    fn remember_origin(&mut self, event: &EventRow, scope: Scope, run: u32) -> io::Result<()> {
        if !self.has_devices {
            return Ok(());
        }
        let origin = |id| Origin { id, at: event.start, scope: scope.0, run };
        if event.correlation != 0 {
            self.by_correlation.push(origin(event.correlation))?;
        }
        if event.external != 0 && event.what == What::Operator as u32 {
            self.by_external.push(origin(event.external))?;
        }
        Ok(())
    }

    fn record(&mut self, event: &EventRow, scope: Scope, run: u32) -> RecordRow {
        let is_operator = event.what == What::Operator as u32 && self.scopes.operator(scope).is_some();
        let row = RecordRow {
            run,
            of: if event.what == What::Mark as u32 { record_of::MARK } else { record_of::RANGE },
            track: event.track,
            name: event.name,
            start: event.start,
            end: event.end,
            correlation: event.correlation,
            external: event.external,
            around: self.around.len() as u32,
            reserved: 0,
        };
        if !is_operator || self.has_devices || run == OUTSIDE {
            return row;
        }
        let kernel = self.kernels.of_operator(scope, KernelName::of(event));
        RecordRow { of: record_of::HOST_DISPATCH, name: kernel, around: scope.0, ..row }
    }
}
