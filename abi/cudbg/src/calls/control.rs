//! Suspending, resuming and stepping.

use super::place::{device, lane, multiprocessor, warp};
use crate::border::{Failure, Status, call, out};
use crate::layout::numbers::step;
use crate::session::{cannot_step, current};

pub extern "C" fn suspend_device(dev: u32) -> Status {
    call(|| was_running(device(dev)?.suspend()))
}

pub extern "C" fn resume_device(dev: u32) -> Status {
    call(|| Ok(device(dev)?.resume_all()?))
}

/// With a number other than 0 it does not wait: an event follows for clients that asked for such events.
pub extern "C" fn suspend_all_devices(non_blocking: u32) -> Status {
    call(|| {
        let session = current()?;
        if non_blocking == 0 {
            return was_running(session.suspend());
        }
        was_running(session.suspend_in_background())
    })
}

pub extern "C" fn resume_all_devices() -> Status {
    call(|| Ok(current()?.resume_all()?))
}

pub extern "C" fn single_step_warp40(dev: u32, sm: u32, wp: u32) -> Status {
    call(|| step_times(dev, sm, wp, 1))
}

/// # Safety
/// `mask` is NULL, or valid for writes.
pub unsafe extern "C" fn single_step_warp41(dev: u32, sm: u32, wp: u32, mask: *mut u64) -> Status {
    call(|| {
        current()?;
        let mask = out(mask, "the mask")?;
        step_times(dev, sm, wp, 1)?;
        mask.set(1 << wp);
        Ok(())
    })
}

/// # Safety
/// `mask` is NULL, or valid for writes.
pub unsafe extern "C" fn single_step_warp65(dev: u32, sm: u32, wp: u32, steps: u32, mask: *mut u64) -> Status {
    call(|| {
        current()?;
        let mask = out(mask, "the mask")?;
        step_times(dev, sm, wp, steps)?;
        mask.set(1 << wp);
        Ok(())
    })
}

/// # Safety
/// `mask` is NULL, or valid for writes.
pub unsafe extern "C" fn single_step_warp(
    dev: u32,
    sm: u32,
    wp: u32,
    lane_hint: u32,
    steps: u32,
    flags: u32,
    mask: *mut u64,
) -> Status {
    call(|| {
        let session = device(dev)?;
        if lane_hint != u32::MAX {
            lane(&session, lane_hint)?;
        }
        if flags & step::NON_BLOCKING != 0 {
            return Err(Failure::new(
                Status::NotSupported,
                "a step always waits until it is done; do not ask for NON_BLOCKING",
            ));
        }
        let mask = out(mask, "the mask")?;
        step_times(dev, sm, wp, steps)?;
        mask.set(1 << wp);
        Ok(())
    })
}

fn step_times(dev: u32, sm: u32, wp: u32, steps: u32) -> Result<(), Failure> {
    let session = device(dev)?;
    multiprocessor(&session, sm)?;
    if steps == 0 {
        return Err(Failure::new(Status::InvalidArgs, "0 steps were asked for; ask for one at least"));
    }
    for number in 0..steps {
        let stopped = warp(&mut session.state(), sm, wp, &session);
        match stopped {
            Ok((event, stop)) => session.step(event, stop.run, stop.moment()).map_err(cannot_step)?,
            // The run has ended.
            Err(_) if number > 0 => break,
            Err(failure) => return Err(failure),
        }
        let is_hit = |stop: &crate::session::Stop| stop.is_broken() || stop.exception().is_some();
        if session.state().stops().any(|(_, stop)| stop.warp == Some(wp) && is_hit(stop)) {
            break;
        }
    }
    Ok(())
}

fn was_running(outcome: Result<bool, impl Into<Failure>>) -> Result<(), Failure> {
    match outcome.map_err(Into::into)? {
        true => Ok(()),
        false => Err(Failure::new(Status::SuspendedDevice, "the device is suspended already")),
    }
}
