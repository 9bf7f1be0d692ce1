//! Suspending, resuming and stepping.

use opscope_debug::Sequence;

use opscope_border::{Out, in_table};

use super::place::{device, lane, multiprocessor, warp};
use crate::border::{Failure, Status};
use crate::layout::numbers::step;
use crate::session::{Session, Stop, cannot_step, current, require_suspended};

#[in_table]
pub fn suspend_device(dev: u32) -> Result<(), Failure> {
    was_running(device(dev)?.suspend())
}

#[in_table]
pub fn resume_device(dev: u32) -> Result<(), Failure> {
    Ok(device(dev)?.resume_all()?)
}

/// If `non_blocking` is not 0, this does not wait. Clients that asked for suspend events then receive one when the
/// device is suspended.
#[in_table]
pub fn suspend_all_devices(non_blocking: u32) -> Result<(), Failure> {
    let session = current()?;
    if non_blocking == 0 {
        return was_running(session.suspend());
    }
    was_running(session.suspend_in_background())
}

#[in_table]
pub fn resume_all_devices() -> Result<(), Failure> {
    Ok(current()?.resume_all()?)
}

#[in_table]
pub fn single_step_warp40(dev: u32, sm: u32, wp: u32) -> Result<(), Failure> {
    step_times(dev, sm, wp, 1)
}

#[in_table]
pub fn single_step_warp41(dev: u32, sm: u32, wp: u32, mask: Out<'_, u64>) -> Result<(), Failure> {
    current()?;
    let mask = mask.place("the mask")?;
    step_times(dev, sm, wp, 1)?;
    mask.write(1 << wp);
    Ok(())
}

#[in_table]
pub fn single_step_warp65(dev: u32, sm: u32, wp: u32, steps: u32, mask: Out<'_, u64>) -> Result<(), Failure> {
    current()?;
    let mask = mask.place("the mask")?;
    step_times(dev, sm, wp, steps)?;
    mask.write(1 << wp);
    Ok(())
}

#[in_table]
pub fn single_step_warp(
    dev: u32,
    sm: u32,
    wp: u32,
    lane_hint: u32,
    steps: u32,
    flags: u32,
    mask: Out<'_, u64>,
) -> Result<(), Failure> {
    let session = device(dev)?;
    if lane_hint != u32::MAX {
        lane(&session, lane_hint)?;
    }
    blocks(flags)?;
    let mask = mask.place("the mask")?;
    step_times(dev, sm, wp, steps)?;
    mask.write(1 << wp);
    Ok(())
}

fn step_times(dev: u32, sm: u32, wp: u32, steps: u32) -> Result<(), Failure> {
    let session = device(dev)?;
    multiprocessor(&session, sm)?;
    if steps == 0 {
        return Err(Failure::new(Status::InvalidArgs, "0 steps were asked for; ask for one at least"));
    }
    let (_, first) = warp(&mut session.state(), sm, wp, &session)?;
    for _ in 0..steps {
        let Some((event, stop)) = still_stopped(&session, wp, &first) else { break };
        session.step(event, &stop).map_err(cannot_step)?;
        if is_at_breakpoint(&session, wp) {
            break;
        }
    }
    Ok(())
}

#[in_table]
pub fn resume_warps_until_pc60(dev: u32, sm: u32, mask: u64, pc: u64) -> Result<(), Failure> {
    until(dev, sm, mask, pc)
}

#[in_table]
pub fn resume_warps_until_pc(dev: u32, sm: u32, mask: u64, pc: u64, flags: u32) -> Result<(), Failure> {
    device(dev)?;
    blocks(flags)?;
    until(dev, sm, mask, pc)
}

/// Steps runs until they are at the instruction `pc`, at a breakpoint, or past `pc`. A run may skip `pc` if the engine
/// executes that operator as part of another one.
fn until(dev: u32, sm: u32, mask: u64, pc: u64) -> Result<(), Failure> {
    let session = device(dev)?;
    multiprocessor(&session, sm)?;
    let is_meant = |stop: &Stop| stop.warp.is_some_and(|warp| mask & 1 << warp != 0);
    let warps: Vec<Stop> = {
        let mut state = session.state();
        require_suspended(&mut state)?;
        state.stops().map(|(_, stop)| stop).filter(|stop| is_meant(stop)).cloned().collect()
    };
    if mask == 0 || warps.len() != mask.count_ones() as usize {
        let text = format!("the mask {mask:#x} is not one of stopped runs; readValidWarps returns theirs");
        return Err(Failure::new(Status::InvalidWarpMask, text));
    }
    let is_ahead = |from: u64| {
        let state = session.state();
        let (here, there) = (state.addresses.code_at(from), state.addresses.code_at(pc));
        here.zip(there).is_some_and(|(here, there)| here.model == there.model && there.offset == 0 && from < pc)
    };
    if let Some(stop) = warps.iter().find(|stop| !is_ahead(stop.address)) {
        let text = format!("{pc:#x} is not an instruction that the run at {:#x} comes to", stop.address);
        return Err(Failure::new(Status::WarpResumeNotPossible, text));
    }
    for first in warps {
        let Some(wp) = first.warp else { continue };
        while let Some((event, stop)) = still_stopped(&session, wp, &first)
            && stop.address < pc
        {
            // A breakpoint at the instruction where the run started is not hit again.
            let stepped = match stop.address == first.address {
                true => session.step(event, &stop),
                false => session.step_or_hit(event, &stop),
            };
            stepped.map_err(cannot_step)?;
            if is_at_breakpoint(&session, wp) {
                break;
            }
        }
    }
    Ok(())
}

/// Returns where a run is stopped now. `None` if it is not stopped, or has ended: its warp may then be that of another
/// run.
fn still_stopped(session: &Session, wp: u32, first: &Stop) -> Option<(Sequence, Stop)> {
    let stopped = warp(&mut session.state(), 0, wp, session);
    stopped.ok().filter(|(_, stop)| stop.run == first.run)
}

/// Checks that the flags of a call ask it to wait until it is done.
fn blocks(flags: u32) -> Result<(), Failure> {
    if flags & step::NON_BLOCKING != 0 {
        let text = "a step always waits until it is done; do not ask for NON_BLOCKING";
        return Err(Failure::new(Status::NotSupported, text));
    }
    Ok(())
}

/// Returns whether a warp is stopped at a breakpoint, or by an exception.
fn is_at_breakpoint(session: &Session, wp: u32) -> bool {
    let is_hit = |stop: &Stop| stop.warp == Some(wp) && (stop.is_broken() || stop.exception().is_some());
    session.state().stops().any(|(_, stop)| is_hit(stop))
}

fn was_running(outcome: Result<bool, impl Into<Failure>>) -> Result<(), Failure> {
    match outcome.map_err(Into::into)? {
        true => Ok(()),
        false => Err(Failure::new(Status::SuspendedDevice, "the device is suspended already")),
    }
}
