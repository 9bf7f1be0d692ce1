//! Places in the device: a device, its one multiprocessor, warps and lanes. Also grids, which are dispatches of
//! operators.

use std::sync::Arc;

use opscope_border::{Out, in_table};
use opscope_debug::Sequence;

use super::encode::{ONE, function};
use crate::border::{Failure, Status};
use crate::layout::device::{Dim3, GridInfo};
use crate::layout::numbers::{GridStatus, KernelOrigin, KernelType};
use crate::layout::{beginning_of, zeroed};
use crate::session::{Grid, Session, State, Stop, current, handle, require_suspended};

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

/// Defines functions that return the description of a grid: the bytes that a generation's structure has.
macro_rules! grid_info {
    ($($function:ident: $bytes:expr;)*) => {
        $(
            #[in_table]
            pub fn $function(dev: u32, grid: u64, info: Out<'_, [u8; $bytes]>) -> Result<(), Failure> {
                    let session = device(dev)?;
                let info = info.place("info")?;
                info.write(beginning_of(&describe(&known(&session.state(), grid)?)));
                Ok(())
            }
        )*
    };
}

grid_info! {
    get_grid_info55: GridInfo::BYTES_55;
    get_grid_info120: GridInfo::BYTES_120;
    get_grid_info: size_of::<GridInfo>();
}

#[in_table]
pub fn get_grid_status50(dev: u32, grid: u32, status: Out<'_, u32>) -> Result<(), Failure> {
    let session = device(dev)?;
    let status = status.place("status")?;
    let state = session.state();
    status.write(status_of(&state, state.grids.widen(grid)));
    Ok(())
}

#[in_table]
pub fn get_grid_status(dev: u32, grid: u64, status: Out<'_, u32>) -> Result<(), Failure> {
    let session = device(dev)?;
    status.place("status")?.write(status_of(&session.state(), grid));
    Ok(())
}

#[in_table]
pub fn get_cluster_dim120(dev: u32, grid: u64, dimensions: Out<'_, Dim3>) -> Result<(), Failure> {
    let session = device(dev)?;
    let dimensions = dimensions.place("the dimensions")?;
    known(&session.state(), grid)?;
    dimensions.write(ONE);
    Ok(())
}

fn status_of(state: &State, grid: u64) -> u32 {
    state.grid(grid).map_or(GridStatus::Invalid, |(_, status)| status) as u32
}

fn known(state: &State, grid: u64) -> Result<Grid, Failure> {
    let known = state.grid(grid).map(|(grid, _)| grid).filter(|grid| state.modules.contains_key(&grid.model));
    known.ok_or_else(|| Failure::new(Status::InvalidGrid, format!("there is no grid {grid}, or its model is unloaded")))
}

fn describe(grid: &Grid) -> GridInfo {
    let mut info: GridInfo = zeroed();
    info.grid_id64 = grid.id;
    info.tid = grid.thread;
    info.context = handle(grid.model);
    info.module = handle(grid.model);
    info.function = function(grid);
    info.function_entry = function(grid);
    info.grid_dim = ONE;
    info.block_dim = ONE;
    info.kernel_type = KernelType::Application as u32;
    info.origin = KernelOrigin::Cpu as u32;
    info.cluster_dim = ONE;
    info.preferred_cluster_dim = ONE;
    info
}
