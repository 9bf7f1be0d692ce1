//! Breakpoints that the client sets at instructions, and before every operator.

use std::collections::BTreeMap;

use opscope_debug::{BreakpointChange, BreakpointId, BreakpointSpec, OperatorMapping, Target};

use super::Session;
use super::stops::{Cause, Stop};
use crate::border::{Failure, Status};
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

/// The target of the breakpoint before every operator.
const EVERY: &str = "*";

impl Session {
    /// Sets a breakpoint without a handle. Does nothing if there is one at the address already.
    ///
    /// # Errors
    /// Returns an error if no instruction begins at the address, or if the engine never executes its operator.
    pub fn set_breakpoint(&self, address: u64) -> Result<(), Failure> {
        if self.state().breakpoints.at(address).is_none() {
            let id = self.add(address)?;
            self.state().add_breakpoint(address, id, true);
        }
        Ok(())
    }

    /// Removes a breakpoint without a handle. Does nothing if there is none at the address.
    ///
    /// # Errors
    /// Returns an error if the connection has ended.
    pub fn unset_breakpoint(&self, address: u64) -> Result<(), Failure> {
        let mut state = self.state();
        let found = state.breakpoints.at(address).filter(|(_, breakpoint)| breakpoint.is_legacy);
        let Some((handle, _)) = found else { return Ok(()) };
        let removed = state.breakpoints.remove(handle);
        drop(state);
        removed.map_or(Ok(()), |breakpoint| Ok(self.client.remove_breakpoint(breakpoint.id)?))
    }

    /// Sets a breakpoint, and returns its handle.
    ///
    /// # Errors
    /// Returns an error if there is one already, if no instruction begins at the address, or if the engine never
    /// executes its operator.
    pub fn insert_breakpoint(&self, address: u64) -> Result<u64, Failure> {
        if self.state().breakpoints.at(address).is_some() {
            let text = format!("there is a breakpoint at {address:#x} already");
            return Err(Failure::new(Status::BreakpointStateConflict, text));
        }
        let id = self.add(address)?;
        Ok(self.state().add_breakpoint(address, id, false))
    }

    /// Removes a breakpoint.
    ///
    /// # Errors
    /// Returns an error if no breakpoint has this handle.
    pub fn remove_breakpoint(&self, handle: u64) -> Result<(), Failure> {
        let mut state = self.state();
        let id = state.breakpoints.get_mut(handle).ok_or_else(|| unknown(handle))?.id;
        state.breakpoints.remove(handle);
        drop(state);
        Ok(self.client.remove_breakpoint(id)?)
    }

    /// Enables or disables a breakpoint.
    ///
    /// # Errors
    /// Returns an error if no breakpoint has this handle, or if the breakpoint is in this state already.
    pub fn switch_breakpoint(&self, handle: u64, enabled: bool) -> Result<(), Failure> {
        let mut state = self.state();
        let breakpoint = state.breakpoints.get_mut(handle).ok_or_else(|| unknown(handle))?;
        if std::mem::replace(&mut breakpoint.is_enabled, enabled) == enabled {
            return Err(no_change(enabled));
        }
        let id = breakpoint.id;
        drop(state);
        self.change(id, enabled)
    }

    /// Enables or disables the breakpoint before every operator.
    ///
    /// # Errors
    /// Returns an error if the client did not ask for this capability, or if the breakpoint is in this state already.
    pub fn switch_launch(&self, enabled: bool) -> Result<(), Failure> {
        if !self.options.wants_break_on_launch() {
            let text = "BREAK_ON_LAUNCH was not asked for in cudbgDebuggerCapabilities before initialize";
            return Err(Failure::new(Status::InvalidArgs, text));
        }
        let known = self.state().breakpoints.launch;
        match known {
            Some(launch) if launch.is_enabled != enabled => self.change(launch.id, enabled)?,
            None if enabled => {
                let id = self.client.add_breakpoint(BreakpointSpec::at(target(EVERY)))?.id;
                self.state().breakpoints.launch = Some(Launch { id, is_enabled: true });
            }
            _ => return Err(no_change(enabled)),
        }
        if let Some(launch) = &mut self.state().breakpoints.launch {
            launch.is_enabled = enabled;
        }
        Ok(())
    }

    /// Returns whether a breakpoint is enabled.
    ///
    /// # Errors
    /// Returns an error if no breakpoint has this handle.
    pub fn is_breakpoint_enabled(&self, handle: u64) -> Result<bool, Failure> {
        let mut state = self.state();
        if handle == BREAK_ON_LAUNCH {
            return Ok(state.breakpoints.launch.is_some_and(|launch| launch.is_enabled));
        }
        state.breakpoints.get_mut(handle).map(|breakpoint| breakpoint.is_enabled).ok_or_else(|| unknown(handle))
    }

    fn add(&self, address: u64) -> Result<BreakpointId, Failure> {
        let nowhere = |text: String| Failure::new(Status::InvalidAddress, text);
        let place = self.state().addresses.code_at(address).filter(|place| place.offset == 0);
        let place = place.ok_or_else(|| nowhere(format!("no instruction of an operator begins at {address:#x}")))?;
        let spec = BreakpointSpec {
            moment: Some(place.moment),
            model: Some(place.model),
            ..BreakpointSpec::at(Target::Index(place.operator))
        };
        let info = self.client.add_breakpoint(spec)?;
        if info.locations.iter().any(|location| location.mapping == OperatorMapping::Removed) {
            self.client.remove_breakpoint(info.id)?;
            return Err(nowhere(format!("operator {} is never executed: the engine optimised it out", place.operator)));
        }
        Ok(info.id)
    }

    fn change(&self, id: BreakpointId, enabled: bool) -> Result<(), Failure> {
        let change = BreakpointChange { enabled: Some(enabled), ..BreakpointChange::default() };
        self.client.change_breakpoint(id, change)?;
        Ok(())
    }
}

fn target(text: &str) -> Target {
    text.parse().expect("a target that is known here")
}

fn unknown(handle: u64) -> Failure {
    Failure::new(Status::InvalidArgs, format!("no breakpoint has the handle {handle:#x}"))
}

fn no_change(enabled: bool) -> Failure {
    let is = if enabled { "enabled" } else { "disabled" };
    Failure::new(Status::BreakpointStateConflict, format!("the breakpoint is {is} already"))
}
