//! The state of warps and lanes: where runs are stopped, and why.

use std::ffi::c_char;
use std::mem::offset_of;

use opscope_border::Out;

use super::place::{device, lane, multiprocessor, warp, with_lane, with_warp};
use crate::border::{Failure, Status, ascii, call, out, text};
use crate::layout::dimensions::{Dim2, Dim3};
use crate::layout::memory::AttributeValuePair;
use crate::layout::numbers::{Exception, GridAttribute};
use crate::layout::warp::WarpState;
use crate::layout::zeroed;
use crate::session::{Stop, require_suspended};

use super::encode::ONE;

const ZERO: Dim3 = Dim3 { x: 0, y: 0, z: 0 };

/// Functions that return one value of a warp.
macro_rules! of_warp {
    ($($function:ident: $type:ty, |$stop:ident| $value:expr;)*) => {
        $(
            /// # Safety
            /// The result is NULL, or valid for writes.
            pub unsafe extern "C" fn $function(dev: u32, sm: u32, wp: u32, result: Out<'_, $type>) -> Status {
                call(|| {
                    let session = device(dev)?;
                    let result = out(result, "the place for the result")?;
                    drop(session);
                    with_warp((dev, sm, wp), |$stop| { result.set($value); Ok(()) })
                })
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

/// Functions that return one value of a lane.
macro_rules! of_lane {
    ($($function:ident: $type:ty, |$stop:ident| $value:expr;)*) => {
        $(
            /// # Safety
            /// The result is NULL, or valid for writes.
            pub unsafe extern "C" fn $function(dev: u32, sm: u32, wp: u32, ln: u32, result: Out<'_, $type>) -> Status {
                call(|| {
                    let session = device(dev)?;
                    let result = out(result, "the place for the result")?;
                    drop(session);
                    with_lane((dev, sm, wp, ln), |$stop| { result.set($value); Ok(()) })
                })
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

/// # Safety
/// `mask` is NULL, or valid for writes.
pub unsafe extern "C" fn read_valid_warps(dev: u32, sm: u32, mask: Out<'_, u64>) -> Status {
    call(|| masked(dev, sm, mask, |_| true))
}

/// # Safety
/// `mask` is NULL, or valid for writes.
pub unsafe extern "C" fn read_broken_warps(dev: u32, sm: u32, mask: Out<'_, u64>) -> Status {
    call(|| masked(dev, sm, mask, Stop::is_broken))
}

/// # Safety
/// The results are NULL, or valid for writes.
pub unsafe extern "C" fn read_error_pc(dev: u32, sm: u32, wp: u32, pc: Out<'_, u64>, valid: Out<'_, bool>) -> Status {
    call(|| {
        device(dev)?;
        let (pc, valid) = (out(pc, "errorPC")?, out(valid, "errorPCValid")?);
        with_warp((dev, sm, wp), |stop| {
            valid.set(stop.exception().is_some() && stop.place.is_some());
            pc.set(if stop.exception().is_some() { stop.address } else { 0 });
            Ok(())
        })
    })
}

/// # Safety
/// The results are NULL, or valid for writes.
pub unsafe extern "C" fn read_sm_exception(
    dev: u32,
    sm: u32,
    result: Out<'_, u32>,
    pc: Out<'_, u64>,
    valid: Out<'_, bool>,
) -> Status {
    call(|| {
        let session = device(dev)?;
        let (result, pc, valid) = (out(result, "exception")?, out(pc, "errorPC")?, out(valid, "errorPCValid")?);
        multiprocessor(&session, sm)?;
        let mut state = session.state();
        require_suspended(&mut state)?;
        let failed = state.stops().map(|(_, stop)| stop).find(|stop| stop.exception().is_some());
        result.set(failed.map_or(Exception::None as u32, exception));
        pc.set(failed.map_or(0, |stop| stop.address));
        valid.set(failed.is_some_and(|stop| stop.place.is_some()));
        Ok(())
    })
}

/// # Safety
/// `mask` is NULL, or valid for writes.
pub unsafe extern "C" fn read_device_exception_state80(dev: u32, mask: Out<'_, u64>) -> Status {
    call(|| {
        let value = exceptions(dev, mask.is_null())?;
        out(mask, "the mask")?.set(value);
        Ok(())
    })
}

/// The most words of a mask: a bit for each multiprocessor, of which no device has so many.
const MOST_WORDS: u32 = 1024;

/// The most attributes that are read at once. There are a few, and each may be asked for again.
const MOST_PAIRS: u32 = 1024;

/// # Safety
/// `mask` is NULL, or valid for writes of so many words.
pub unsafe extern "C" fn read_device_exception_state(dev: u32, mask: *mut u64, words: u32) -> Status {
    call(|| {
        let value = exceptions(dev, mask.is_null())?;
        if words == 0 {
            return Err(Failure::new(Status::InvalidArgs, "the mask has 0 words; it needs one"));
        }
        if words > MOST_WORDS {
            let text = format!("the mask has {words} words; the masks of all devices have at most {MOST_WORDS}");
            return Err(Failure::new(Status::InvalidArgs, text));
        }
        for word in 0..words as usize {
            // SAFETY: the caller promises so many words.
            unsafe { mask.add(word).write_unaligned(if word == 0 { value } else { 0 }) };
        }
        Ok(())
    })
}

/// # Safety
/// `message` is NULL, or valid for writes of `size` bytes; `needed` is NULL, or valid for writes.
pub unsafe extern "C" fn get_cuda_exception_string(
    dev: u32,
    sm: u32,
    wp: u32,
    ln: u32,
    message: *mut c_char,
    size: u32,
    needed: Out<'_, u32>,
) -> Status {
    call(|| {
        with_lane((dev, sm, wp, ln), |stop| {
            let exception = ascii(stop.exception().unwrap_or_default());
            let asks_for_size = !needed.is_null();
            needed.write_if_given(exception.len() as u32 + 1);
            if message.is_null() && size == 0 && asks_for_size {
                return Ok(());
            }
            // SAFETY: the caller promises it.
            unsafe { text(&exception, message, size) }
        })
    })
}

/// # Safety
/// `value` is NULL, or valid for writes.
pub unsafe extern "C" fn get_grid_attribute(dev: u32, sm: u32, wp: u32, attribute: u32, value: Out<'_, u64>) -> Status {
    call(|| {
        device(dev)?;
        let value = out(value, "value")?;
        with_warp((dev, sm, wp), |stop| {
            value.set(attribute_of(stop, attribute)?);
            Ok(())
        })
    })
}

/// # Safety
/// `pairs` is NULL, or valid for reads and writes of so many pairs.
pub unsafe extern "C" fn get_grid_attributes(
    dev: u32,
    sm: u32,
    wp: u32,
    pairs: *mut AttributeValuePair,
    count: u32,
) -> Status {
    call(|| {
        device(dev)?;
        if pairs.is_null() && count > 0 {
            return Err(Failure::null("pairs"));
        }
        if count > MOST_PAIRS {
            let text = format!("{count} attributes were asked for; there are at most {MOST_PAIRS}");
            return Err(Failure::new(Status::InvalidArgs, text));
        }
        with_warp((dev, sm, wp), |stop| {
            // SAFETY: the caller promises so many pairs.
            let pair = |index: usize| unsafe { pairs.add(index) };
            // SAFETY: as above.
            let wanted = (0..count as usize).map(|index| unsafe { pair(index).read() });
            let values: Vec<u64> = wanted.map(|pair| attribute_of(stop, pair.attribute)).collect::<Result<_, _>>()?;
            for (index, value) in values.into_iter().enumerate() {
                // SAFETY: as above.
                unsafe { (&raw mut (*pair(index)).value).write(value) };
            }
            Ok(())
        })
    })
}

/// Functions that return the state of a warp: as many of its bytes as a generation has.
macro_rules! warp_state {
    ($($function:ident: $bytes:expr;)*) => {
        $(
            /// # Safety
            /// `state` is NULL, or valid for writes of this generation's structure.
            pub unsafe extern "C" fn $function(dev: u32, sm: u32, wp: u32, state: *mut u8) -> Status {
                // SAFETY: the caller promises it.
                call(|| unsafe { write_state((dev, sm, wp), state, $bytes) })
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

/// # Safety
/// `to` is NULL, or valid for writes of so many bytes, which are at most those of [`WarpState`].
unsafe fn write_state(at: (u32, u32, u32), to: *mut u8, bytes: usize) -> Result<(), Failure> {
    device(at.0)?;
    if to.is_null() {
        return Err(Failure::null("state"));
    }
    with_warp(at, |stop| {
        let state = state_of(stop);
        // SAFETY: the caller promises it; the structure has no padding.
        unsafe { std::ptr::copy_nonoverlapping((&raw const state).cast(), to, bytes) };
        Ok(())
    })
}

const _: () = assert!(offset_of!(WarpState, grid_id) == 0);

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

/// Returns the distance of a stopped run from the beginning of its operator.
fn program_counter(stop: &Stop) -> u64 {
    stop.address % crate::addresses::OPERATOR_BYTES
}

fn attribute_of(stop: &Stop, attribute: u32) -> Result<u64, Failure> {
    match attribute {
        attribute if attribute == GridAttribute::LaunchBlocking as u32 => Ok(1),
        attribute if attribute == GridAttribute::Tid as u32 => Ok(u64::from(stop.thread)),
        other => {
            let text = format!("{other} is no attribute of a grid; there are 0 (launch blocking) and 1 (thread)");
            Err(Failure::new(Status::InvalidAttribute, text))
        }
    }
}

fn masked(dev: u32, sm: u32, mask: Out<'_, u64>, is_in: impl Fn(&Stop) -> bool) -> Result<(), Failure> {
    let session = device(dev)?;
    let mask = out(mask, "the mask")?;
    multiprocessor(&session, sm)?;
    let mut state = session.state();
    require_suspended(&mut state)?;
    let warps = state.stops().filter(|(_, stop)| is_in(stop)).filter_map(|(_, stop)| stop.warp);
    mask.set(warps.fold(0, |mask, warp| mask | 1 << warp));
    Ok(())
}

/// Returns the multiprocessors with exceptions as a mask.
fn exceptions(dev: u32, is_null: bool) -> Result<u64, Failure> {
    let session = device(dev)?;
    if is_null {
        return Err(Failure::null("the mask"));
    }
    let mut state = session.state();
    require_suspended(&mut state)?;
    Ok(u64::from(state.stops().any(|(_, stop)| stop.exception().is_some())))
}

/// # Safety
/// `result` is NULL, or valid for writes.
pub unsafe extern "C" fn get_warp_hit_breakpoint(dev: u32, sm: u32, wp: u32, result: Out<'_, u64>) -> Status {
    call(|| {
        let session = device(dev)?;
        let result = out(result, "the handle")?;
        let mut state = session.state();
        let (_, stop) = warp(&mut state, sm, wp, &session)?;
        let handle = state.breakpoints.handle_of(&stop.cause);
        let none = || Failure::new(Status::InvalidArgs, format!("warp {wp} is at no breakpoint"));
        result.set(handle.ok_or_else(none)?);
        Ok(())
    })
}

/// Functions for call levels of a lane or a warp: there is one level, so no level has a return address.
macro_rules! no_level {
    ($($function:ident ( $($argument:ident),* );)*) => {
        $(
            /// # Safety
            /// `result` is NULL, or valid for writes.
            pub unsafe extern "C" fn $function($($argument: u32,)* level: u32, result: Out<'_, u64>) -> Status {
                call(|| {
                    let at = [$($argument),*];
                    let session = device(at[0])?;
                    out(result, "the place for the result")?;
                    if let Some(ln) = at.get(3) {
                        lane(&session, *ln)?;
                    }
                    drop(session);
                    with_warp((at[0], at[1], at[2]), |_| {
                        let text = format!("there is no call level {level}: an operator is called by none");
                        Err(Failure::new(Status::InvalidCallLevel, text))
                    })
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
