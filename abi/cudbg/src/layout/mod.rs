//! The structures that debuggers read and write, and the numbers in them. [`zeroed`] makes a structure of zeros, to be
//! filled in.

pub mod device;
pub mod event;
pub mod event30;
pub mod event32;
pub mod event42;
pub mod event50;
pub mod event55;
pub mod numbers;

use std::mem::MaybeUninit;

use opscope_border::Unpadded;

/// A structure of the interface, which consists of numbers and pointers.
///
/// # Safety
/// The type is valid if all of its bytes are 0.
pub unsafe trait Layout: Copy {}

// SAFETY: zero is a number.
unsafe impl Layout for u32 {}
// SAFETY: zero is a number.
unsafe impl Layout for u64 {}
// SAFETY: zero is `false`.
unsafe impl Layout for bool {}

// SAFETY: zero is a number.
unsafe impl<const BYTES: usize> Layout for [u8; BYTES] {}

/// Returns the first bytes of a structure, which are the structure of an older generation.
pub fn beginning_of<T: Unpadded, const BYTES: usize>(structure: &T) -> [u8; BYTES] {
    const { assert!(BYTES <= size_of::<T>()) };
    *structure.as_bytes().first_chunk().expect("the structure is longer")
}

/// Returns a structure of zeros.
pub fn zeroed<T: Layout>() -> T {
    // SAFETY: the implementor of `Layout` guarantees that zero is valid.
    unsafe { MaybeUninit::zeroed().assume_init() }
}

/// Asserts the size of a structure and the offsets of its fields.
macro_rules! layout {
    ($struct:ty, $size:literal, $align:literal: $($($field:ident).+ @ $offset:literal),+ $(,)?) => {
        const _: () = {
            $(assert!(std::mem::offset_of!($struct, $($field).+) == $offset);)+
            assert!(size_of::<$struct>() == $size && align_of::<$struct>() == $align);
        };
        // SAFETY: its fields are numbers, pointers, and structures of them.
        unsafe impl $crate::layout::Layout for $struct {}
    };
}
use layout;
