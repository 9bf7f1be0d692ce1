//! Structs that begin with their size. They grow at their end only: a program that was compiled with an older header passes
//! a shorter struct, whose missing fields are zero; one that was compiled with a newer header passes a longer one.

use std::mem::MaybeUninit;
use std::ptr;

use super::Failure;
use super::opscope_status_t::OPSCOPE_ERROR_INVALID_SIZE;

/// A `repr(C)` struct whose first field is `size: usize`.
///
/// # Safety
/// The type is `repr(C)`, begins with a `usize`, and every field may be zero.
pub unsafe trait SizedStruct: Copy {
    /// Its name in C, for messages.
    const NAME: &'static str;
    /// The size of its first version: the least that a program can pass.
    const FIRST_SIZE: usize;

    /// Returns it with all fields zero but its size.
    fn zeroed() -> Self {
        let mut value = MaybeUninit::<Self>::zeroed();
        // SAFETY: the implementor promises that zero is valid for every field, and that the first is a `usize`.
        unsafe {
            value.as_mut_ptr().cast::<usize>().write(size_of::<Self>());
            value.assume_init()
        }
    }
}

/// Reads a struct that the caller passes.
///
/// # Safety
/// `from` is NULL, or points to a struct of the size that its first field says.
pub unsafe fn read<T: SizedStruct>(from: *const T) -> Result<T, Failure> {
    if from.is_null() {
        return Err(Failure::argument(format!("the pointer to {} is NULL", T::NAME)));
    }
    // SAFETY: the caller promises that the struct begins with its size.
    let size = check_size::<T>(unsafe { from.cast::<usize>().read_unaligned() })?;
    let mut value = T::zeroed();
    // SAFETY: the source has `size` bytes, of which as many are copied as `T` has.
    unsafe { ptr::copy_nonoverlapping(from.cast::<u8>(), ptr::from_mut(&mut value).cast(), size.min(size_of::<T>())) };
    // SAFETY: the source has `size` bytes.
    let beyond = (size_of::<T>()..size).map(|offset| unsafe { from.cast::<u8>().add(offset).read() });
    if beyond.into_iter().any(|byte| byte != 0) {
        let text = format!(
            "{} has fields that this library does not know; leave them zero, or use a newer library (this is {})",
            T::NAME,
            env!("CARGO_PKG_VERSION")
        );
        return Err(Failure::new(OPSCOPE_ERROR_INVALID_SIZE, text));
    }
    Ok(value)
}

/// Reads a struct of options that the caller may leave out.
///
/// # Safety
/// As [`read`].
pub unsafe fn read_or_default<T: SizedStruct>(from: *const T) -> Result<T, Failure> {
    // SAFETY: as the caller promises.
    if from.is_null() { Ok(T::zeroed()) } else { unsafe { read(from) } }
}

/// Reads an array of structs, which all have the size of the first.
///
/// # Safety
/// `from` points to `count` structs of the size that the first one says, or `count` is 0.
pub unsafe fn read_array<T: SizedStruct>(from: *const T, count: usize) -> Result<Vec<T>, Failure> {
    if count == 0 {
        return Ok(Vec::new());
    }
    // SAFETY: the caller promises that there is at least one struct.
    unsafe { read(from)? };
    // SAFETY: it was just found to be valid.
    let size = unsafe { from.cast::<usize>().read_unaligned() };
    let element = |index: usize| {
        let at = from.cast::<u8>().wrapping_add(index * size).cast::<T>();
        // SAFETY: the caller promises `count` structs of this size.
        let own_size = unsafe { at.cast::<usize>().read_unaligned() };
        if own_size != size {
            let text = format!("{} [{index}] has size {own_size}, and the first of the array has {size}", T::NAME);
            return Err(Failure::new(OPSCOPE_ERROR_INVALID_SIZE, text));
        }
        // SAFETY: as above.
        unsafe { read(at) }
    };
    (0..count).map(element).collect()
}

/// Checks that there is a place for a struct, before what it is to hold is taken from somewhere.
///
/// # Safety
/// As [`write`].
pub unsafe fn check_place<T: SizedStruct>(to: *mut T) -> Result<(), Failure> {
    if to.is_null() {
        return Err(Failure::argument(format!("the pointer to {} is NULL", T::NAME)));
    }
    // SAFETY: the caller promises that the struct begins with its size.
    check_size::<T>(unsafe { to.cast::<usize>().read_unaligned() }).map(drop)
}

/// Writes a struct to where the caller wants it, as far as the caller's own version of it goes. Its `size` stays the caller's.
///
/// # Safety
/// `to` is NULL, or points to a writable struct of the size that its first field says.
pub unsafe fn write<T: SizedStruct>(to: *mut T, value: &T) -> Result<(), Failure> {
    // SAFETY: as the caller promises.
    unsafe { check_place(to)? };
    // SAFETY: it was just found to be valid.
    let size = unsafe { to.cast::<usize>().read_unaligned() };
    let (head, end) = (size_of::<usize>(), size.min(size_of::<T>()));
    // SAFETY: both have at least `end` bytes.
    unsafe {
        ptr::copy_nonoverlapping(ptr::from_ref(value).cast::<u8>().add(head), to.cast::<u8>().add(head), end - head);
        to.cast::<u8>().add(end).write_bytes(0, size - end);
    }
    Ok(())
}

fn check_size<T: SizedStruct>(size: usize) -> Result<usize, Failure> {
    const MOST: usize = 1 << 16;
    if (T::FIRST_SIZE..=MOST).contains(&size) {
        return Ok(size);
    }
    let (name, least) = (T::NAME, T::FIRST_SIZE);
    let text = format!("the size of {name} is {size}; set its field to sizeof({name}), which is at least {least}");
    Err(Failure::new(OPSCOPE_ERROR_INVALID_SIZE, text))
}

/// Makes a `repr(C)` struct one that begins with its size.
macro_rules! sized {
    ($struct:ident, $first_size:literal) => {
        // SAFETY: it is `repr(C)`, its first field is its size, and its fields are numbers, pointers, handles and optional
        // functions.
        unsafe impl $crate::border::SizedStruct for $struct {
            const NAME: &'static str = stringify!($struct);
            const FIRST_SIZE: usize = $first_size;
        }
        const _: () = assert!(size_of::<$struct>() >= $first_size, "a struct never shrinks");
        const _: () = assert!(std::mem::offset_of!($struct, size) == 0, "the size comes first");
    };
}
pub(crate) use sized;

#[cfg(test)]
mod tests {
    use super::super::opscope_status_t;
    use super::*;

    /// The second version of a struct: `added` came later.
    #[repr(C)]
    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Grown {
        size: usize,
        value: u64,
        added: u64,
    }
    sized!(Grown, 16);

    #[repr(C)]
    struct First {
        size: usize,
        value: u64,
        behind: u64,
    }

    #[test]
    fn a_program_that_knows_the_first_version_passes_and_gets_that() {
        let mut first = First { size: 16, value: 7, behind: 99 };
        let pointer = (&raw mut first).cast::<Grown>();
        // SAFETY: it points to 16 bytes, as its first field says.
        let read = unsafe { read(pointer) }.expect("the first version is long enough");
        assert_eq!(read, Grown { size: 16, value: 7, added: 0 });
        // SAFETY: as above.
        unsafe { write(pointer, &Grown { size: 24, value: 8, added: 5 }) }.expect("it is long enough");
        assert_eq!((first.size, first.value, first.behind), (16, 8, 99), "nothing is written behind it");
    }

    #[test]
    fn a_program_that_knows_a_later_version_is_refused_only_if_it_uses_that() {
        let mut later = [32, 7, 5, 0usize];
        let pointer = later.as_mut_ptr().cast::<Grown>();
        // SAFETY: it points to 32 bytes, as its first field says.
        assert_eq!(unsafe { read(pointer) }.expect("the rest is zero").added, 5);
        later[3] = 1;
        let pointer = later.as_mut_ptr().cast::<Grown>();
        // SAFETY: as above.
        let refused = unsafe { read(pointer) }.expect_err("it is not zero");
        assert_eq!(refused.status, opscope_status_t::OPSCOPE_ERROR_INVALID_SIZE);
        // SAFETY: as above.
        unsafe { write(pointer, &Grown { size: 24, value: 8, added: 6 }) }.expect("it is long enough");
        assert_eq!(later, [32, 8, 6, 0], "what this library does not know is zeroed");
    }

    #[test]
    fn a_size_that_was_not_set_is_refused() {
        for size in [0, 8, 15, usize::MAX] {
            let grown = Grown { size, value: 0, added: 0 };
            // SAFETY: the size is refused before anything is read.
            let refused = unsafe { read(&raw const grown) }.expect_err("the size is wrong");
            assert_eq!(refused.status, opscope_status_t::OPSCOPE_ERROR_INVALID_SIZE);
        }
    }
}
