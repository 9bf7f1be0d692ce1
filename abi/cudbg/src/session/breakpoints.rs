use std::collections::BTreeMap;

use opscope_debug::BreakpointId;

use super::stops::{Cause, Stop};
use crate::layout::numbers::breakpoint::{BREAK_ON_LAUNCH, INTERNAL, LEGACY};

/// The breakpoints that the client has set.
#[derive(Default)]
pub struct Breakpoints {
    /// The breakpoints by handle. Handles count up from 1.
    all: BTreeMap<u64, Breakpoint>,
    last: u64,
    /// The breakpoint before every operator, once it was enabled for the first time.
    pub launch: Option<Launch>,
}

/// A breakpoint at an instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Breakpoint {
    pub address: u64,
    /// Its id in the program.
    pub id: BreakpointId,
    pub is_enabled: bool,
    /// Whether `setBreakpoint` has set it. Clients have no handle for such a breakpoint.
    pub is_legacy: bool,
}

/// The breakpoint before every operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Launch {
    pub id: BreakpointId,
    pub is_enabled: bool,
}

impl Breakpoints {
    /// Adds a breakpoint and returns its handle.
    pub fn add(&mut self, address: u64, id: BreakpointId, is_legacy: bool) -> u64 {
        self.last += 1;
        self.all.insert(self.last, Breakpoint { address, id, is_enabled: true, is_legacy });
        self.last
    }

    pub fn remove(&mut self, handle: u64) -> Option<Breakpoint> {
        self.all.remove(&handle)
    }

    /// Returns the breakpoint at an address, with its handle.
    pub fn at(&self, address: u64) -> Option<(u64, &Breakpoint)> {
        self.all.iter().find(|(_, breakpoint)| breakpoint.address == address).map(|(handle, found)| (*handle, found))
    }

    pub fn is_enabled_at(&self, address: u64) -> bool {
        self.at(address).is_some_and(|(_, breakpoint)| breakpoint.is_enabled)
    }

    /// Returns the breakpoint with this handle. `None` if `setBreakpoint` has set it.
    pub fn get_mut(&mut self, handle: u64) -> Option<&mut Breakpoint> {
        self.all.get_mut(&handle).filter(|breakpoint| !breakpoint.is_legacy)
    }

    /// Returns the handles that clients know.
    pub fn handles(&self) -> Vec<u64> {
        self.all.iter().filter(|(_, breakpoint)| !breakpoint.is_legacy).map(|(handle, _)| *handle).collect()
    }

    /// Returns the address that a client gets for a stopped run. If the run is at a breakpoint, it is the breakpoint's
    /// address.
    pub fn address_of(&self, stop: &Stop) -> u64 {
        let engines = stop.engines_address();
        let Cause::Breakpoint(hit) = &stop.cause else { return engines };
        let hit =
            self.all.values().filter(|breakpoint| hit.contains(&breakpoint.id)).map(|breakpoint| breakpoint.address);
        let hit: Vec<u64> = hit.collect();
        if hit.contains(&engines) { engines } else { hit.first().copied().unwrap_or(engines) }
    }

    /// Removes all breakpoints, and returns their ids in the program.
    pub fn take_all(&mut self) -> Vec<BreakpointId> {
        let own = std::mem::take(&mut self.all).into_values().map(|breakpoint| breakpoint.id);
        own.chain(self.launch.take().map(|launch| launch.id)).collect()
    }

    /// Returns the handle for the cause of a stop: the handle of a breakpoint, or the special handle of a step.
    pub fn handle_of(&self, cause: &Cause) -> Option<u64> {
        match cause {
            Cause::Step => Some(INTERNAL),
            Cause::Breakpoint(hit) => {
                let found = self.all.iter().find(|(_, breakpoint)| hit.contains(&breakpoint.id));
                let own = found.map(|(handle, breakpoint)| if breakpoint.is_legacy { LEGACY } else { *handle });
                own.or(self.launch.filter(|launch| hit.contains(&launch.id)).map(|_| BREAK_ON_LAUNCH))
            }
            Cause::Suspended | Cause::Exception(_) => None,
        }
    }
}
