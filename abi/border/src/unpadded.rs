use std::mem::MaybeUninit;

/// A type without padding: all of its bytes are initialized. [`unpadded!`](crate::unpadded) implements it for a struct.
///
/// # Safety
/// No byte of a value is padding.
pub unsafe trait Unpadded: Copy {
    /// Returns the bytes of the value.
    #[inline(always)]
    fn as_bytes(&self) -> &[u8] {
        // SAFETY: the slice has the length of the type, and the implementor guarantees that all of its bytes are
        // initialized.
        unsafe { std::slice::from_raw_parts(std::ptr::from_ref(self).cast(), size_of::<Self>()) }
    }

    /// Returns the words of a value that consists of words.
    #[inline(always)]
    fn as_words(&self) -> &[u64] {
        const { assert!(size_of::<Self>().is_multiple_of(8) && align_of::<Self>() == 8) };
        // SAFETY: as above; any bytes form valid words.
        unsafe { std::slice::from_raw_parts(std::ptr::from_ref(self).cast(), size_of::<Self>() / 8) }
    }
}

macro_rules! numbers {
    ($($number:ty),+) => {
        $(
            // SAFETY: neither a number nor a `bool` has padding.
            unsafe impl Unpadded for $number {}
        )+
    };
}
numbers!(bool, u8, u16, u32, u64, usize, i8, i16, i32, i64, isize);

// SAFETY: an address has no padding.
unsafe impl<T> Unpadded for *const T {}
// SAFETY: as above.
unsafe impl<T> Unpadded for *mut T {}
// SAFETY: the elements have no padding, and there is none between them.
unsafe impl<T: Unpadded, const COUNT: usize> Unpadded for [T; COUNT] {}

#[doc(hidden)]
pub const fn size_of_pointee<T: Unpadded>(_: *const T) -> usize {
    size_of::<T>()
}

#[doc(hidden)]
pub const fn uninit<T>() -> MaybeUninit<T> {
    MaybeUninit::uninit()
}

/// Implements [`Unpadded`](crate::Unpadded) for a `repr(C)` struct: `unpadded!(Record { size, kind })`. It compiles
/// only if all fields are named, none of them has padding, and together they are as long as the struct.
#[macro_export]
macro_rules! unpadded {
    ($struct:ident { $($field:tt),+ $(,)? }) => {
        const _: () = {
            const fn names_all(value: &$struct) {
                let $struct { $($field: _),+ } = value;
            }
            let value = $crate::__uninit::<$struct>();
            let value = value.as_ptr();
            // SAFETY: only the addresses of fields are taken.
            let size = unsafe { 0 $(+ $crate::__size_of_pointee(&raw const (*value).$field))+ };
            assert!(size == size_of::<$struct>(), "the struct has padding");
            let _ = names_all;
        };
        // SAFETY: that is asserted above.
        unsafe impl $crate::Unpadded for $struct {}
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[repr(C)]
    #[derive(Clone, Copy)]
    struct Record {
        kind: u32,
        flags: [u16; 2],
        time: u64,
    }
    crate::unpadded!(Record { kind, flags, time });

    #[test]
    fn a_struct_is_its_bytes() {
        let record = Record { kind: 0x0403_0201, flags: [0x0605, 0x0807], time: 1 };
        assert_eq!(record.as_bytes().len(), 16);
        assert_eq!(record.as_words(), [u64::from_ne_bytes([1, 2, 3, 4, 5, 6, 7, 8]), 1]);
        assert_eq!(u64::from_ne_bytes(*record.as_bytes().last_chunk().expect("16 bytes")), 1);
    }
}
