use opscope_debug::{BreakpointChange, BreakpointId, BreakpointSpec, OperatorMapping, Target};

use super::Session;
use super::breakpoints::Launch;
use crate::border::{Failure, Status};
use crate::layout::numbers::breakpoint::BREAK_ON_LAUNCH;

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
