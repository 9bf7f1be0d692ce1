//! Grids: dispatches of operators.

use opscope_border::Out;

use super::encode::{ONE, function};
use super::place::device;
use crate::border::{Failure, Status, call, out};
use crate::layout::dimensions::Dim3;
use crate::layout::grid::GridInfo;
use crate::layout::numbers::{GridStatus, KernelOrigin, KernelType};
use crate::layout::zeroed;
use crate::session::{Grid, State, handle};

/// Functions that return what is known of a grid: as many bytes as a generation has.
macro_rules! grid_info {
    ($($function:ident: $bytes:expr;)*) => {
        $(
            /// # Safety
            /// `info` is NULL, or valid for writes of this generation's structure.
            pub unsafe extern "C" fn $function(dev: u32, grid: u64, info: *mut u8) -> Status {
                call(|| {
                    let session = device(dev)?;
                    if info.is_null() {
                        return Err(Failure::null("info"));
                    }
                    let found = describe(&known(&session.state(), grid)?);
                    // SAFETY: the caller promises so many bytes; the structure has as many, and no padding.
                    unsafe { std::ptr::copy_nonoverlapping((&raw const found).cast(), info, $bytes) };
                    Ok(())
                })
            }
        )*
    };
}

grid_info! {
    get_grid_info55: GridInfo::BYTES_55;
    get_grid_info120: GridInfo::BYTES_120;
    get_grid_info: size_of::<GridInfo>();
}

/// # Safety
/// `status` is NULL, or valid for writes.
pub unsafe extern "C" fn get_grid_status50(dev: u32, grid: u32, status: Out<'_, u32>) -> Status {
    call(|| {
        let session = device(dev)?;
        let status = out(status, "status")?;
        let state = session.state();
        status.set(status_of(&state, state.grids.widen(grid)));
        Ok(())
    })
}

/// # Safety
/// `status` is NULL, or valid for writes.
pub unsafe extern "C" fn get_grid_status(dev: u32, grid: u64, status: Out<'_, u32>) -> Status {
    call(|| {
        let session = device(dev)?;
        out(status, "status")?.set(status_of(&session.state(), grid));
        Ok(())
    })
}

/// # Safety
/// `dimensions` is NULL, or valid for writes.
pub unsafe extern "C" fn get_cluster_dim120(dev: u32, grid: u64, dimensions: Out<'_, Dim3>) -> Status {
    call(|| {
        let session = device(dev)?;
        let dimensions = out(dimensions, "the dimensions")?;
        known(&session.state(), grid)?;
        dimensions.set(ONE);
        Ok(())
    })
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
