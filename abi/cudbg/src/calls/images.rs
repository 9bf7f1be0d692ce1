//! The images of models, and what is in them.

use std::ffi::{c_char, c_void};
use std::sync::Arc;

use opscope_debug::ModelId;

use opscope_border::Out;

use super::place::{device, warp};
use crate::addresses::INSTRUCTION_BYTES;
use crate::border::{Failure, Status, ascii, call, given_text, out, text};
use crate::image::Image;
use crate::layout::memory::LoadedFunctionInfo;
use crate::layout::numbers::ElfImageType;
use crate::session::{Module, Session, current};

/// # Safety
/// `buffer` is NULL, or valid for writes of `size` bytes.
pub unsafe extern "C" fn get_elf_image_by_handle(
    dev: u32,
    handle: u64,
    image_type: u32,
    buffer: *mut c_void,
    size: u64,
) -> Status {
    call(|| {
        let session = device(dev)?;
        if buffer.is_null() {
            return Err(Failure::null("the buffer"));
        }
        let module = module(&session, handle)?;
        let image = match image_type {
            kind if kind == ElfImageType::Relocated as u32 => &module.image.relocated,
            kind if kind == ElfImageType::NonRelocated as u32 => &module.image.non_relocated,
            other => {
                let text = format!("{other} is no type of an image; there are 0 (not relocated) and 1 (relocated)");
                return Err(Failure::new(Status::InvalidArgs, text));
            }
        };
        if size < image.len() as u64 {
            let text = format!("the image has {} bytes, and there is room for {size}", image.len());
            return Err(Failure::new(Status::InvalidArgs, text));
        }
        // SAFETY: the caller promises so many bytes.
        unsafe { std::ptr::copy_nonoverlapping(image.as_ptr(), buffer.cast(), image.len()) };
        Ok(())
    })
}

/// Functions that return the image of a warp's model. It is valid until the model is unloaded, and longer.
macro_rules! image_of_warp {
    ($($function:ident: $size:ty;)*) => {
        $(
            /// # Safety
            /// The results are NULL, or valid for writes.
            pub unsafe extern "C" fn $function(
                dev: u32,
                sm: u32,
                wp: u32,
                relocated: bool,
                image: Out<'_, *const c_void>,
                size: Out<'_, $size>,
            ) -> Status {
                call(|| {
                    let session = device(dev)?;
                    let (image, size) = (out(image, "the image")?, out(size, "the size")?);
                    let mut state = session.state();
                    let (_, stop) = warp(&mut state, sm, wp, &session)?;
                    let model = stop.place.map(|place| place.model);
                    let module = model.and_then(|model| state.modules.get(&model));
                    let unknown = || Failure::new(Status::InvalidModule, "the model of the warp is not known");
                    let found = &module.ok_or_else(unknown)?.image;
                    let bytes = if relocated { &found.relocated } else { &found.non_relocated };
                    image.set(bytes.as_ptr().cast());
                    size.set(bytes.len() as $size);
                    Ok(())
                })
            }
        )*
    };
}

image_of_warp! {
    get_elf_image32: u32;
    get_elf_image: u64;
}

/// # Safety
/// `functions` is NULL, or valid for writes of `count` entries.
pub unsafe extern "C" fn get_loaded_function_info118(
    dev: u32,
    handle: u64,
    functions: *mut LoadedFunctionInfo,
    count: u32,
) -> Status {
    // SAFETY: the caller promises the same.
    unsafe { get_loaded_function_info(dev, handle, functions, 0, count) }
}

/// # Safety
/// `functions` is NULL, or valid for writes of `count` entries.
pub unsafe extern "C" fn get_loaded_function_info(
    dev: u32,
    handle: u64,
    functions: *mut LoadedFunctionInfo,
    start: u32,
    count: u32,
) -> Status {
    call(|| {
        let session = device(dev)?;
        if functions.is_null() && count > 0 {
            return Err(Failure::null("the functions"));
        }
        let module = module(&session, handle)?;
        let all = module.graph.operators.len() as u64;
        if u64::from(start) + u64::from(count) > all {
            let text = format!("there are {all} functions, and {count} from {start} on were asked for");
            return Err(Failure::new(Status::InvalidArgs, text));
        }
        for index in 0..count {
            let operator = start + index;
            let entry = LoadedFunctionInfo { section_index: Image::section(operator), address: module.entry(operator) };
            // SAFETY: the caller promises so many entries.
            unsafe { functions.add(index as usize).write_unaligned(entry) };
        }
        Ok(())
    })
}

/// # Safety
/// The name is NULL or ends with NUL; the results are NULL, or valid for writes.
pub unsafe extern "C" fn lookup_device_code_symbol(
    name: *const c_char,
    found: Out<'_, bool>,
    address: Out<'_, usize>,
) -> Status {
    call(|| {
        let session = current()?;
        // SAFETY: the caller promises it.
        let name = unsafe { given_text(name, "the name") }?;
        let (found, address) = (out(found, "found")?, out(address, "the address")?);
        let state = session.state();
        let known =
            name.to_str().ok().and_then(|name| state.modules.values().find_map(|module| module.address_of(name)));
        found.set(known.is_some());
        if let Some(known) = known {
            address.set(known as usize);
        }
        Ok(())
    })
}

/// The text of an instruction says which operator it is before or after.
///
/// # Safety
/// `size` is NULL, or valid for writes; `to` is NULL, or valid for writes of `room` bytes.
pub unsafe extern "C" fn disassemble(dev: u32, address: u64, size: Out<'_, u32>, to: *mut c_char, room: u32) -> Status {
    call(|| {
        let session = device(dev)?;
        let size = out(size, "the size of the instruction")?;
        let state = session.state();
        let nowhere = || Failure::new(Status::InvalidAddress, format!("no operator is at {address:#x}"));
        let code = state.addresses.code_at(address).ok_or_else(nowhere)?;
        let module = state.modules.get(&code.model).ok_or_else(nowhere)?;
        let operator = module.graph.operators.get(code.operator as usize).ok_or_else(nowhere)?;
        let line = ascii(&format!("{} {} {}", code.moment, operator.op_type, operator.name));
        // A client may ask for the size alone. A text is cut where there is no room for more.
        if room > 0 {
            // SAFETY: the caller promises it.
            unsafe { text(&line[..line.len().min(room as usize - 1)], to, room) }?;
        }
        size.set(INSTRUCTION_BYTES as u32);
        Ok(())
    })
}

/// # Safety
/// `is_code` is NULL, or valid for writes.
pub unsafe extern "C" fn is_device_code_address(address: usize, is_code: Out<'_, bool>) -> Status {
    call(|| {
        let session = current()?;
        let is_code = out(is_code, "the place for the result")?;
        is_code.set(session.state().addresses.code_at(address as u64).is_some());
        Ok(())
    })
}

fn module(session: &Session, handle: u64) -> Result<Arc<Module>, Failure> {
    let model = u32::try_from(handle).map(ModelId).ok();
    let module = model.and_then(|model| session.state().modules.get(&model).cloned());
    let text = || format!("{handle} is the handle of no image; an event has it when a model is loaded");
    module.ok_or_else(|| Failure::new(Status::InvalidModule, text()))
}
