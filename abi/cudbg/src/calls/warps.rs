//! The state of warps and lanes: where runs are stopped, and why.

use opscope_border::{ItemsInOut, ItemsOut, Out, in_table};

use super::place::{device, lane, multiprocessor, warp, with_lane, with_warp};
use crate::border::{Failure, Status, ascii, write_text};
use crate::layout::device::{AttributeValuePair, Dim2, Dim3, WarpState};
use crate::layout::numbers::{Exception, GridAttribute};
use crate::layout::{beginning_of, zeroed};
use crate::session::{Stop, require_suspended};

use super::encode::ONE;

const ZERO: Dim3 = Dim3 { x: 0, y: 0, z: 0 };

/// Defines functions that return one value of a warp.
macro_rules! of_warp {
    ($($function:ident: $type:ty, |$stop:ident| $value:expr;)*) => {
        $(
            #[in_table]
            pub fn $function(dev: u32, sm: u32, wp: u32, result: Out<'_, $type>) -> Result<(), Failure> {
                    let session = device(dev)?;
                    let result = result.place("the place for the result")?;
                    drop(session);
                    with_warp((dev, sm, wp), |$stop| { result.write($value); Ok(()) })

            }
        )*
    };
}

of_warp! {
    read_grid_id50: u32, |stop| stop.grid.map_or(0, |grid| grid.id as u32);
    read_grid_id: u64, |stop| stop.grid.map_or(0, |grid| grid.id);
    read_block_idx32: Dim2, |_stop| Dim2 { x: 0, y: 0 };
    read_block_idx: Dim3, |_stop| ZERO;
    get_grid_dim32: Dim2, |_stop| Dim2 { x: 1, y: 1 };
    get_grid_dim: Dim3, |_stop| ONE;
    get_block_dim: Dim3, |_stop| ONE;
    get_tid: u32, |stop| stop.thread;
    read_valid_lanes: u32, |_stop| 1;
    read_active_lanes: u32, |_stop| 1;
}

/// Defines functions that return one value of a lane.
macro_rules! of_lane {
    ($($function:ident: $type:ty, |$stop:ident| $value:expr;)*) => {
        $(
            #[in_table]
            pub fn $function(dev: u32, sm: u32, wp: u32, ln: u32, result: Out<'_, $type>) -> Result<(), Failure> {
                    let session = device(dev)?;
                    let result = result.place("the place for the result")?;
                    drop(session);
                    with_lane((dev, sm, wp, ln), |$stop| { result.write($value); Ok(()) })

            }
        )*
    };
}

of_lane! {
    read_thread_idx: Dim3, |_stop| ZERO;
    read_pc: u64, |stop| program_counter(stop);
    read_virtual_pc: u64, |stop| stop.address;
    read_lane_status: bool, |stop| stop.exception().is_some();
    read_lane_exception: u32, |stop| exception(stop);
}

#[in_table]
pub fn read_valid_warps(dev: u32, sm: u32, mask: Out<'_, u64>) -> Result<(), Failure> {
    masked(dev, sm, mask, |_| true)
}

#[in_table]
pub fn read_broken_warps(dev: u32, sm: u32, mask: Out<'_, u64>) -> Result<(), Failure> {
    masked(dev, sm, mask, Stop::is_broken)
}

#[in_table]
pub fn read_error_pc(dev: u32, sm: u32, wp: u32, pc: Out<'_, u64>, valid: Out<'_, bool>) -> Result<(), Failure> {
    device(dev)?;
    let (pc, valid) = (pc.place("errorPC")?, valid.place("errorPCValid")?);
    with_warp((dev, sm, wp), |stop| {
        valid.write(stop.exception().is_some() && stop.place.is_some());
        pc.write(if stop.exception().is_some() { stop.address } else { 0 });
        Ok(())
    })
}

#[in_table]
pub fn read_sm_exception(
    dev: u32,
    sm: u32,
    result: Out<'_, u32>,
    pc: Out<'_, u64>,
    valid: Out<'_, bool>,
) -> Result<(), Failure> {
    let session = device(dev)?;
    let (result, pc, valid) = (result.place("exception")?, pc.place("errorPC")?, valid.place("errorPCValid")?);
    multiprocessor(&session, sm)?;
    let mut state = session.state();
    require_suspended(&mut state)?;
    let failed = state.stops().map(|(_, stop)| stop).find(|stop| stop.exception().is_some());
    result.write(failed.map_or(Exception::None as u32, exception));
    pc.write(failed.map_or(0, |stop| stop.address));
    valid.write(failed.is_some_and(|stop| stop.place.is_some()));
    Ok(())
}

#[in_table]
pub fn read_device_exception_state80(dev: u32, mask: Out<'_, u64>) -> Result<(), Failure> {
    let value = exceptions(dev, mask.is_null())?;
    mask.place("the mask")?.write(value);
    Ok(())
}

const THE_MASK: &str = "the mask";

/// The largest number of words in a mask, which has a bit for each multiprocessor. No device has that many
/// multiprocessors.
const MOST_WORDS: u32 = 1024;

/// The largest number of attributes that can be read at once. Only a few exist, but a client may ask for the same one
/// several times.
const MOST_PAIRS: u32 = 1024;

#[in_table]
pub fn read_device_exception_state(
    dev: u32,
    #[counted_by(words)] mask: ItemsOut<'_, u64>,
    words: u32,
) -> Result<(), Failure> {
    let value = exceptions(dev, mask.is_null())?;
    if words == 0 {
        return Err(Failure::new(Status::InvalidArgs, "the mask has 0 words; it needs one"));
    }
    if words > MOST_WORDS {
        let text = format!("the mask has {words} words; the masks of all devices have at most {MOST_WORDS}");
        return Err(Failure::new(Status::InvalidArgs, text));
    }
    let mut all = vec![0; words as usize];
    all[0] = value;
    Ok(mask.write_all(&all, THE_MASK)?)
}

#[in_table]
pub fn get_cuda_exception_string(
    dev: u32,
    sm: u32,
    wp: u32,
    ln: u32,
    #[counted_by(size)] message: ItemsOut<'_, u8>,
    size: u32,
    needed: Out<'_, u32>,
) -> Result<(), Failure> {
    with_lane((dev, sm, wp, ln), |stop| {
        let exception = ascii(stop.exception().unwrap_or_default());
        let asks_for_size = !needed.is_null();
        needed.write_if_given(exception.len() as u32 + 1);
        if message.is_null() && size == 0 && asks_for_size {
            return Ok(());
        }
        write_text(&exception, message)
    })
}

#[in_table]
pub fn get_grid_attribute(dev: u32, sm: u32, wp: u32, attribute: u32, value: Out<'_, u64>) -> Result<(), Failure> {
    device(dev)?;
    let value = value.place("value")?;
    with_warp((dev, sm, wp), |stop| {
        value.write(attribute_of(stop, attribute)?);
        Ok(())
    })
}

#[in_table]
pub fn get_grid_attributes(
    dev: u32,
    sm: u32,
    wp: u32,
    #[counted_by(count)] pairs: ItemsInOut<'_, AttributeValuePair>,
    count: u32,
) -> Result<(), Failure> {
    device(dev)?;
    if pairs.is_null() && count > 0 {
        return Err(Failure::null("pairs"));
    }
    if count > MOST_PAIRS {
        let text = format!("{count} attributes were asked for; there are at most {MOST_PAIRS}");
        return Err(Failure::new(Status::InvalidArgs, text));
    }
    with_warp((dev, sm, wp), |stop| {
        let pairs = pairs.get("pairs")?;
        let values = pairs.iter().map(|pair| attribute_of(stop, pair.attribute));
        let values: Vec<u64> = values.collect::<Result<_, _>>()?;
        for (pair, value) in pairs.iter_mut().zip(values) {
            pair.value = value;
        }
        Ok(())
    })
}

/// Defines functions that return the state of a warp: the bytes that a generation's structure has.
macro_rules! warp_state {
    ($($function:ident: $bytes:expr;)*) => {
        $(
            #[in_table]
            pub fn $function(dev: u32, sm: u32, wp: u32, state: Out<'_, [u8; $bytes]>) -> Result<(), Failure> {
                device(dev)?;
                let state = state.place("state")?;
                with_warp((dev, sm, wp), |stop| {
                    state.write(beginning_of(&state_of(stop)));
                    Ok(())
                })
            }
        )*
    };
}

warp_state! {
    read_warp_state60: WarpState::BYTES_60;
    read_warp_state120: WarpState::BYTES_120;
    read_warp_state127: WarpState::BYTES_127;
    read_warp_state: size_of::<WarpState>();
}

fn state_of(stop: &Stop) -> WarpState {
    let mut state: WarpState = zeroed();
    let failed = stop.exception().is_some();
    state.grid_id = stop.grid.map_or(0, |grid| grid.id);
    state.valid_lanes = 1;
    state.active_lanes = 1;
    state.error_pc = if failed { stop.address } else { 0 };
    state.error_pc_valid = u32::from(failed && stop.place.is_some());
    state.lane[0].virtual_pc = stop.address;
    state.lane[0].exception = exception(stop);
    state.cluster_dim = ONE;
    state
}

pub(super) fn exception(stop: &Stop) -> u32 {
    if stop.exception().is_some() { Exception::WarpAssert as u32 } else { Exception::None as u32 }
}

/// Returns the distance in bytes of a stopped run from the beginning of its operator.
fn program_counter(stop: &Stop) -> u64 {
    stop.address % crate::addresses::OPERATOR_BYTES
}

fn attribute_of(stop: &Stop, attribute: u32) -> Result<u64, Failure> {
    match attribute {
        attribute if attribute == GridAttribute::LaunchBlocking as u32 => Ok(1),
        attribute if attribute == GridAttribute::Tid as u32 => Ok(u64::from(stop.thread)),
        other => {
            let text = format!("{other} is not an attribute of a grid; there are 0 (launch blocking) and 1 (thread)");
            Err(Failure::new(Status::InvalidAttribute, text))
        }
    }
}

fn masked(dev: u32, sm: u32, mask: Out<'_, u64>, is_in: impl Fn(&Stop) -> bool) -> Result<(), Failure> {
    let session = device(dev)?;
    let mask = mask.place("the mask")?;
    multiprocessor(&session, sm)?;
    let mut state = session.state();
    require_suspended(&mut state)?;
    let warps = state.stops().filter(|(_, stop)| is_in(stop)).filter_map(|(_, stop)| stop.warp);
    mask.write(warps.fold(0, |mask, warp| mask | 1 << warp));
    Ok(())
}

/// Returns the multiprocessors with exceptions as a mask.
fn exceptions(dev: u32, is_null: bool) -> Result<u64, Failure> {
    let session = device(dev)?;
    if is_null {
        return Err(Failure::null(THE_MASK));
    }
    let mut state = session.state();
    require_suspended(&mut state)?;
    Ok(u64::from(state.stops().any(|(_, stop)| stop.exception().is_some())))
}

#[in_table]
pub fn get_warp_hit_breakpoint(dev: u32, sm: u32, wp: u32, result: Out<'_, u64>) -> Result<(), Failure> {
    let session = device(dev)?;
    let result = result.place("the handle")?;
    let mut state = session.state();
    let (_, stop) = warp(&mut state, sm, wp, &session)?;
    let handle = state.breakpoints.handle_of(&stop.cause);
    let none = || Failure::new(Status::InvalidArgs, format!("warp {wp} is at no breakpoint"));
    result.write(handle.ok_or_else(none)?);
    Ok(())
}

/// Defines functions for the call levels of a lane or a warp. There is only one level, so no level has a return
/// address.
macro_rules! no_level {
    ($($function:ident ( $($argument:ident),* );)*) => {
        $(
            #[in_table]
            pub fn $function($($argument: u32,)* level: u32, result: Out<'_, u64>) -> Result<(), Failure> {
                    let at = [$($argument),*];
                    let session = device(at[0])?;
                    result.check_given("the place for the result")?;
                    if let Some(ln) = at.get(3) {
                        lane(&session, *ln)?;
                    }
                    drop(session);
                    with_warp((at[0], at[1], at[2]), |_| {
                        let text = format!("there is no call level {level}: an operator has no caller");
                        Err(Failure::new(Status::InvalidCallLevel, text))
                    })

            }
        )*
    };
}

no_level! {
    read_return_address32(dev, sm, wp);
    read_virtual_return_address32(dev, sm, wp);
    read_return_address(dev, sm, wp, ln);
    read_virtual_return_address(dev, sm, wp, ln);
}
