//! Breakpoints at the instructions of operators, and addresses of instructions.

use opscope_border::{Out, in_table};

use super::place::device;
use crate::addresses::{INSTRUCTION_BYTES, code_of};
use crate::border::{Failure, Status};
use crate::layout::numbers::AddressAdjustment;
use crate::layout::numbers::breakpoint::{ALL_USER, BREAK_ON_LAUNCH};
use crate::session::{Session, current};

#[in_table]
pub fn set_breakpoint31(address: u64) -> Result<(), Failure> {
    current()?.set_breakpoint(address)
}

#[in_table]
pub fn unset_breakpoint31(address: u64) -> Result<(), Failure> {
    current()?.unset_breakpoint(address)
}

#[in_table]
pub fn set_breakpoint(dev: u32, address: u64) -> Result<(), Failure> {
    device(dev)?.set_breakpoint(address)
}

#[in_table]
pub fn unset_breakpoint(dev: u32, address: u64) -> Result<(), Failure> {
    device(dev)?.unset_breakpoint(address)
}

#[in_table]
pub fn insert_breakpoint(dev: u32, address: u64, handle: Out<'_, u64>) -> Result<(), Failure> {
    let session = device(dev)?;
    let place = handle.place("the handle")?;
    place.write(session.insert_breakpoint(address)?);
    Ok(())
}

#[in_table]
pub fn remove_breakpoint(handle: u64) -> Result<(), Failure> {
    of_each(handle, |session, handle| session.remove_breakpoint(handle))
}

#[in_table]
pub fn enable_breakpoint(handle: u64) -> Result<(), Failure> {
    switch(handle, true)
}

#[in_table]
pub fn disable_breakpoint(handle: u64) -> Result<(), Failure> {
    switch(handle, false)
}

#[in_table]
pub fn is_breakpoint_enabled(handle: u64, enabled: Out<'_, u32>) -> Result<(), Failure> {
    let session = current()?;
    let place = enabled.place("the place for the result")?;
    place.write(session.is_breakpoint_enabled(handle)?.into());
    Ok(())
}

#[in_table]
pub fn get_adjusted_code_address(dev: u32, address: u64, adjusted: Out<'_, u64>, action: u32) -> Result<(), Failure> {
    let session = device(dev)?;
    let place = adjusted.place("the place for the address")?;
    let state = session.state();
    let unknown = || Failure::new(Status::InvalidAddress, format!("no operator is at {address:#x}"));
    let code = state.addresses.code_at(address).ok_or_else(unknown)?;
    let operators = state.modules.get(&code.model).ok_or_else(unknown)?.graph.operators.len() as u64;
    let (first, here) = (code_of(code.model), address - code.offset);
    let last = first + operators * 2 * INSTRUCTION_BYTES - INSTRUCTION_BYTES;
    place.write(match action {
        action if action == AddressAdjustment::Previous as u32 => (here - INSTRUCTION_BYTES).max(first),
        action if action == AddressAdjustment::Current as u32 => here,
        action if action == AddressAdjustment::Next as u32 => (here + INSTRUCTION_BYTES).min(last),
        other => {
            let text = format!("{other} is not an adjustment; there are 0 (previous), 1 (current) and 2 (next)");
            return Err(Failure::new(Status::InvalidArgs, text));
        }
    });
    Ok(())
}

fn switch(handle: u64, enabled: bool) -> Result<(), Failure> {
    if handle == BREAK_ON_LAUNCH {
        return current()?.switch_launch(enabled);
    }
    let is_all = handle == ALL_USER;
    of_each(handle, |session, handle| match session.switch_breakpoint(handle, enabled) {
        Err(failure) if is_all && failure.code == Status::BreakpointStateConflict => Ok(()),
        outcome => outcome,
    })
}

/// Calls a function with a handle, or with all handles if it is `ALL_USER`.
fn of_each(handle: u64, each: impl Fn(&Session, u64) -> Result<(), Failure>) -> Result<(), Failure> {
    let session = current()?;
    if handle != ALL_USER {
        return each(&session, handle);
    }
    let handles = session.state().breakpoints.handles();
    handles.into_iter().try_for_each(|handle| each(&session, handle))
}
