//! Ties the work of devices to the calls and operators that launched it.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::iter::Peekable;
use std::path::Path;

use zerocopy::{FromBytes, Immutable, IntoBytes};

use super::kernels::{KernelName, Kernels};
use super::rows::{DeviceRow, EventRow, OUTSIDE, Origin, RecordRow, record_of};
use super::runs::Runs;
use super::scopes::{Scope, Scopes};
use super::sorter::{Row, Sorted, Sorter};
use super::tracks::{TrackOf, Tracks};
use crate::trace::event::{Track, What};

/// How much of the kernels of a device was tied to operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Tied {
    /// The kernels. Copies do not count.
    pub kernels: u64,
    /// Those whose launch is in the trace.
    pub launched: u64,
    /// Those that an operator, or a module or range, launched.
    pub tied: u64,
}

pub(super) struct DeviceWalk<'a> {
    pub scopes: &'a Scopes,
    pub kernels: &'a mut Kernels,
    pub records: &'a mut Sorter<RecordRow>,
    pub tracks: &'a Tracks,
    pub runs: &'a Runs,
    pub tied: BTreeMap<u32, Tied>,
    /// The operators and modules that launched something.
    pub operators: BTreeSet<Scope>,
    pub modules: BTreeSet<Scope>,
}

/// The work of a device whose call is not in the trace, by the operator's id.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable)]
#[repr(transparent)]
struct WithoutCall(EventRow);

impl Row for WithoutCall {
    type Key = (u64, u64);

    fn key(&self) -> Self::Key {
        (self.0.external, self.0.start)
    }
}

impl<'a> DeviceWalk<'a> {
    pub fn new(
        scopes: &'a Scopes,
        kernels: &'a mut Kernels,
        records: &'a mut Sorter<RecordRow>,
        tracks: &'a Tracks,
        runs: &'a Runs,
    ) -> Self {
        let (tied, operators, modules) = (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
        Self { scopes, kernels, records, tracks, runs, tied, operators, modules }
    }

    /// Takes the work of all devices, and where it was launched: by correlations, and by the ids of operators.
    pub fn join(
        &mut self,
        work: Sorted<DeviceRow>,
        by_correlation: Sorted<Origin>,
        by_external: Sorted<Origin>,
        scratch: &Path,
    ) -> io::Result<()> {
        let mut calls = by_correlation.peekable();
        let mut call = None;
        let mut left = Sorter::<WithoutCall>::new(scratch);
        for row in work {
            let DeviceRow(row) = row?;
            call = next_origin(&mut calls, call, row.correlation, self.scopes)?;
            match call.filter(|call| call.id == row.correlation && row.correlation != 0) {
                Some(call) => self.work(&row, Some(call), true)?,
                None => left.push(WithoutCall(row))?,
            }
        }
        let mut operators = by_external.peekable();
        let mut operator = None;
        for row in left.sorted()? {
            let WithoutCall(row) = row?;
            operator = next_origin(&mut operators, operator, row.external, self.scopes)?;
            let found = operator.filter(|operator| operator.id == row.external && row.external != 0);
            self.work(&row, found, false)?;
        }
        Ok(())
    }

    fn work(&mut self, row: &EventRow, origin: Option<Origin>, is_launched: bool) -> io::Result<()> {
        let device = match self.tracks.of(Track(row.track)) {
            TrackOf::Stream { device, .. } => device,
            TrackOf::Thread { .. } => 0,
        };
        let scope = origin.map_or(Scope::default(), |origin| Scope(origin.scope));
        let operator = self.scopes.operator(scope).or((scope != Scope::default()).then_some(scope));
        if row.what == What::Kernel as u32 {
            let tied = self.tied.entry(device).or_default();
            tied.kernels += 1;
            tied.launched += u64::from(is_launched);
            tied.tied += u64::from(operator.is_some());
        }
        self.operators.extend(self.scopes.operator(scope));
        self.scopes.add_modules(scope, &mut self.modules);
        // Work belongs to the run that launched it, and may be done in a later one.
        let run = match origin {
            Some(origin) if origin.run != OUTSIDE => origin.run,
            Some(_) => OUTSIDE,
            None => self.runs.at(u64::MAX, row.start),
        };
        let is_dispatch = run != OUTSIDE;
        let name = match is_dispatch {
            true => self.kernels.number(operator, KernelName::of(row)),
            false => row.name,
        };
        self.records.push(RecordRow {
            run,
            of: if is_dispatch { record_of::DEVICE_DISPATCH } else { record_of::RANGE },
            track: row.track,
            name,
            start: row.start,
            end: row.end,
            correlation: row.correlation,
            external: row.external,
            around: 0,
            reserved: 0,
        })
    }
}

/// Returns the place with this id, or the last one before it. Where several calls have an id, as a runtime's call and
/// the driver's in it, the first one in an operator is taken.
fn next_origin(
    origins: &mut Peekable<Sorted<Origin>>,
    last: Option<Origin>,
    id: u64,
    scopes: &Scopes,
) -> io::Result<Option<Origin>> {
    let mut found = last;
    while let Some(next) = origins.peek() {
        if next.as_ref().is_ok_and(|next| next.id > id) {
            break;
        }
        let Some(next) = origins.next().transpose()? else { break };
        let is_better = match found {
            Some(known) if known.id == next.id => {
                scopes.operator(Scope(known.scope)).is_none() && scopes.operator(Scope(next.scope)).is_some()
            }
            _ => true,
        };
        if is_better {
            found = Some(next);
        }
    }
    Ok(found)
}
