//! Grids: dispatches of operators.

use opscope_border::{Out, in_table};

use super::encode::{ONE, function};
use super::place::device;
use crate::border::{Failure, Status};
use crate::layout::dimensions::Dim3;
use crate::layout::grid::GridInfo;
use crate::layout::numbers::{GridStatus, KernelOrigin, KernelType};
use crate::layout::{beginning_of, zeroed};
use crate::session::{Grid, State, handle};

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
