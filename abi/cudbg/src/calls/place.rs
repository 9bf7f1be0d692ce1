//! Places in the device: a device, its one multiprocessor, warps and lanes.

use std::sync::Arc;

use opscope_debug::Sequence;

use crate::border::{Failure, Status};
use crate::session::{Session, State, Stop, current, require_suspended};

/// Returns the session, for a call that names a device.
pub fn device(dev: u32) -> Result<Arc<Session>, Failure> {
    let session = current()?;
    if dev != 0 {
        return Err(bad_index(
            &session,
            Status::InvalidDevice,
            format!("there is no device {dev}; there is device 0 only"),
        ));
    }
    Ok(session)
}

/// Checks the number of a multiprocessor.
pub fn multiprocessor(session: &Session, sm: u32) -> Result<(), Failure> {
    if sm != 0 {
        let text = format!("there is no SM {sm}; the device has SM 0 only");
        return Err(bad_index(session, Status::InvalidSm, text));
    }
    Ok(())
}

/// The number of lanes of a warp, which debuggers rely on. A run is in lane 0; the other lanes are never active.
pub const LANES: u32 = 32;

/// Checks the number of a lane.
pub fn lane(session: &Session, ln: u32) -> Result<(), Failure> {
    if ln >= LANES {
        let text = format!("there is no lane {ln}; a warp has lanes 0 to {}", LANES - 1);
        return Err(bad_index(session, Status::InvalidLane, text));
    }
    Ok(())
}

/// Returns where a warp is stopped, and the program's event at which its thread waits.
///
/// # Errors
/// Returns an error if there is no such multiprocessor, the device runs, or no run is stopped in the warp.
pub fn warp(state: &mut State, sm: u32, wp: u32, session: &Session) -> Result<(Sequence, Stop), Failure> {
    multiprocessor(session, sm)?;
    require_suspended(state)?;
    let found = state.stops().find(|(_, stop)| stop.warp == Some(wp)).map(|(event, stop)| (event, stop.clone()));
    let nothing = || Failure::new(Status::InvalidWarp, format!("no run is stopped in warp {wp}"));
    found.ok_or_else(nothing)
}

/// Calls a function with a stopped warp.
pub fn with_warp<R>(
    (dev, sm, wp): (u32, u32, u32),
    then: impl FnOnce(&Stop) -> Result<R, Failure>,
) -> Result<R, Failure> {
    let session = device(dev)?;
    let (_, stop) = warp(&mut session.state(), sm, wp, &session)?;
    then(&stop)
}

/// Calls a function with the warp of a lane.
pub fn with_lane<R>(
    (dev, sm, wp, ln): (u32, u32, u32, u32),
    then: impl FnOnce(&Stop) -> Result<R, Failure>,
) -> Result<R, Failure> {
    lane(&*device(dev)?, ln)?;
    with_warp((dev, sm, wp), |stop| {
        if ln != 0 {
            return Err(Failure::new(Status::InvalidWarp, format!("lane {ln} of warp {wp} has no work; lane 0 has")));
        }
        then(stop)
    })
}

/// Returns the failure for an index that does not exist. Clients since 13.0 get the same code for all kinds of indices.
fn bad_index(session: &Session, code: Status, text: String) -> Failure {
    Failure::new(if session.options.version.is_13() { Status::InvalidArgs } else { code }, text)
}
