//! The images of models, their functions and instructions, and breakpoints at the instructions of operators.

use std::ffi::c_void;
use std::sync::Arc;

use opscope_border::{ItemsOut, Out, Room, Text, in_table};
use opscope_debug::ModelId;

use super::place::{device, warp};
use crate::addresses::{INSTRUCTION_BYTES, code_of};
use crate::border::{Failure, Status, THE_BUFFER, ascii, write_text};
use crate::image::Image;
use crate::layout::device::LoadedFunctionInfo;
use crate::layout::numbers::breakpoint::{ALL_USER, BREAK_ON_LAUNCH};
use crate::layout::numbers::{AddressAdjustment, ElfImageType};
use crate::session::{Module, Session, current};

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

#[in_table]
pub fn get_elf_image_by_handle(
    dev: u32,
    handle: u64,
    image_type: u32,
    #[counted_by(size)] buffer: ItemsOut<'_, u8>,
    size: u64,
) -> Result<(), Failure> {
    let session = device(dev)?;
    if buffer.is_null() {
        return Err(Failure::null(THE_BUFFER));
    }
    let module = module(&session, handle)?;
    let image = match image_type {
        kind if kind == ElfImageType::Relocated as u32 => &module.image.relocated,
        kind if kind == ElfImageType::NonRelocated as u32 => &module.image.non_relocated,
        other => {
            let text = format!("{other} is not a type of image; there are 0 (not relocated) and 1 (relocated)");
            return Err(Failure::new(Status::InvalidArgs, text));
        }
    };
    if size < image.len() as u64 {
        let text = format!("the image has {} bytes, and there is room for {size}", image.len());
        return Err(Failure::new(Status::InvalidArgs, text));
    }
    Ok(buffer.write_all(image, THE_BUFFER)?)
}

/// Defines functions that return the image of a warp's model. The image lives at least until the model is unloaded and
/// the client has acknowledged that.
macro_rules! image_of_warp {
    ($($function:ident: $size:ty;)*) => {
        $(
            #[in_table]
            pub fn $function(
                dev: u32,
                sm: u32,
                wp: u32,
                relocated: bool,
                image: Out<'_, *const c_void>,
                size: Out<'_, $size>,
            ) -> Result<(), Failure> {
                    let session = device(dev)?;
                    let (image, size) = (image.place("the image")?, size.place("the size")?);
                    let mut state = session.state();
                    let (_, stop) = warp(&mut state, sm, wp, &session)?;
                    let model = stop.place.map(|place| place.model);
                    let module = model.and_then(|model| state.modules.get(&model));
                    let unknown = || Failure::new(Status::InvalidModule, "the model of the warp is not known");
                    let found = &module.ok_or_else(unknown)?.image;
                    let bytes = if relocated { &found.relocated } else { &found.non_relocated };
                    image.write(bytes.as_ptr().cast());
                    size.write(bytes.len() as $size);
                    Ok(())

            }
        )*
    };
}

image_of_warp! {
    get_elf_image32: u32;
    get_elf_image: u64;
}

#[in_table]
pub fn get_loaded_function_info118(
    dev: u32,
    handle: u64,
    #[counted_by(count)] functions: ItemsOut<'_, LoadedFunctionInfo>,
    count: u32,
) -> Result<(), Failure> {
    write_functions(dev, handle, functions, 0)
}

#[in_table]
pub fn get_loaded_function_info(
    dev: u32,
    handle: u64,
    #[counted_by(count)] functions: ItemsOut<'_, LoadedFunctionInfo>,
    start: u32,
    count: u32,
) -> Result<(), Failure> {
    write_functions(dev, handle, functions, start)
}

fn write_functions(dev: u32, handle: u64, functions: Room<'_, LoadedFunctionInfo>, start: u32) -> Result<(), Failure> {
    const NAME: &str = "the functions";
    let session = device(dev)?;
    let count = functions.count();
    if functions.is_null() && count > 0 {
        return Err(Failure::null(NAME));
    }
    let module = module(&session, handle)?;
    let all = module.graph.operators.len();
    if start as usize + count > all {
        let text = format!("there are {all} functions, and {count} from {start} on were asked for");
        return Err(Failure::new(Status::InvalidArgs, text));
    }
    let entry =
        |operator| LoadedFunctionInfo { section_index: Image::section(operator), address: module.entry(operator) };
    let entries: Vec<_> = (start..).take(count).map(entry).collect();
    Ok(functions.write_all(&entries, NAME)?)
}

#[in_table]
pub fn lookup_device_code_symbol(name: Text<'_>, found: Out<'_, bool>, address: Out<'_, usize>) -> Result<(), Failure> {
    let session = current()?;
    let name = name.c_str("the name")?;
    let (found, address) = (found.place("found")?, address.place("the address")?);
    let state = session.state();
    let known = name.to_str().ok().and_then(|name| state.modules.values().find_map(|module| module.address_of(name)));
    found.write(known.is_some());
    if let Some(known) = known {
        address.write(known as usize);
    }
    Ok(())
}

/// The text of an instruction names its operator, and whether the instruction is before or after it.
#[in_table]
pub fn disassemble(
    dev: u32,
    address: u64,
    size: Out<'_, u32>,
    #[counted_by(room)] to: ItemsOut<'_, u8>,
    room: u32,
) -> Result<(), Failure> {
    let session = device(dev)?;
    let size = size.place("the size of the instruction")?;
    let state = session.state();
    let nowhere = || Failure::new(Status::InvalidAddress, format!("no operator is at {address:#x}"));
    let code = state.addresses.code_at(address).ok_or_else(nowhere)?;
    let module = state.modules.get(&code.model).ok_or_else(nowhere)?;
    let operator = module.graph.operators.get(code.operator as usize).ok_or_else(nowhere)?;
    let line = ascii(&format!("{} {} {}", code.moment, operator.op_type, operator.name));
    // A client may ask only for the size. A text that does not fit is cut.
    if room > 0 {
        write_text(&line[..line.len().min(room as usize - 1)], to)?;
    }
    size.write(INSTRUCTION_BYTES as u32);
    Ok(())
}

#[in_table]
pub fn is_device_code_address(address: usize, is_code: Out<'_, bool>) -> Result<(), Failure> {
    let session = current()?;
    let is_code = is_code.place("the place for the result")?;
    is_code.write(session.state().addresses.code_at(address as u64).is_some());
    Ok(())
}

fn module(session: &Session, handle: u64) -> Result<Arc<Module>, Failure> {
    let model = u32::try_from(handle).map(ModelId).ok();
    let module = model.and_then(|model| session.state().modules.get(&model).cloned());
    let text = || format!("{handle} is the handle of no image; an event has it when a model is loaded");
    module.ok_or_else(|| Failure::new(Status::InvalidModule, text()))
}
