//! Structs that begin with their size. They grow only at their end: a program that was compiled with an older header
//! passes a shorter struct, whose missing fields are zero; one that was compiled with a newer header passes a longer
//! struct.

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};

use crate::items::Count;
use crate::{Argument, ArgumentError};

/// A `repr(C)` struct whose first field is `size: usize`. [`sized!`](crate::sized) implements it.
///
/// # Safety
/// The type is `repr(C)`, begins with a `usize`, and every field may be zero.
pub unsafe trait SizedStruct: Copy {
    /// Its name in C, for messages.
    const NAME: &'static str;
    /// The size of its first version, the smallest that a program may pass.
    const FIRST_SIZE: usize;

    /// Returns a struct whose fields are all zero, except for its size.
    fn zeroed() -> Self {
        let mut value = MaybeUninit::<Self>::zeroed();
        // SAFETY: the implementor guarantees that zero is valid for every field, and that the first is a `usize`.
        unsafe {
            value.as_mut_ptr().cast::<usize>().write(size_of::<Self>());
            value.assume_init()
        }
    }
}

/// NULL, or a pointer to a C struct that begins with its size.
///
/// C guarantees that anything but NULL can be read as far as its size says, during the call.
#[repr(transparent)]
pub struct SizedIn<'a, T>(*const T, PhantomData<&'a T>);

/// NULL, or a pointer to memory where C wants a struct that begins with its size.
///
/// C guarantees that anything but NULL can be read and written as far as its size says, during the call. Only C reads
/// what is written, so a struct may have pointers of any lifetime; the description of the function says how long C may
/// use them.
#[repr(transparent)]
pub struct SizedOut<'a, T>(*const T, PhantomData<&'a T>);

/// NULL, or an array of structs that begin with their size. All have the size of the first one.
///
/// C guarantees that there are as many as the count beside it says, and for each the same as for [`SizedIn`].
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct SizedItems<'a, T>(*const T, PhantomData<&'a [T]>);

/// An array of structs with its count.
#[derive(Clone, Copy)]
pub struct SizedCounted<'a, T> {
    items: SizedItems<'a, T>,
    count: usize,
}

/// A place for a struct, which begins with a valid size.
#[must_use]
pub struct SizedPlace<'a, T> {
    place: NonNull<T>,
    size: usize,
    lifetime: PhantomData<&'a T>,
}

impl<'a, T: SizedStruct> SizedIn<'a, T> {
    /// Reads the struct, which is required.
    pub fn get(self) -> Result<T, ArgumentError> {
        if self.0.is_null() {
            return Err(null::<T>());
        }
        // SAFETY: it is not NULL, and the type guarantees that it begins with its size.
        let size = check_size::<T>(unsafe { self.0.cast::<usize>().read_unaligned() })?;
        let mut value = T::zeroed();
        let (from, to) = (self.0.cast::<u8>(), ptr::from_mut(&mut value).cast::<u8>());
        // SAFETY: the source has `size` bytes, and at most as many as `T` has are copied.
        unsafe { ptr::copy_nonoverlapping(from, to, size.min(size_of::<T>())) };
        // SAFETY: the source has `size` bytes.
        let mut beyond = (size_of::<T>()..size).map(|offset| unsafe { from.add(offset).read() });
        if beyond.any(|byte| byte != 0) {
            return Err(ArgumentError::UnknownFields(T::NAME));
        }
        Ok(value)
    }

    /// Reads a struct of options. NULL stands for the default: all zero.
    pub fn get_or_default(self) -> Result<T, ArgumentError> {
        if self.0.is_null() { Ok(T::zeroed()) } else { self.get() }
    }
}

impl<'a, T: SizedStruct> SizedOut<'a, T> {
    /// Checks that it is not NULL; `name` is that of the argument.
    pub fn check_given(&self, name: &'static str) -> Result<(), ArgumentError> {
        if self.0.is_null() { Err(ArgumentError::Null { what: Argument::Place, name }) } else { Ok(()) }
    }

    /// Returns the place, which is required and must begin with a valid size.
    pub fn place(self) -> Result<SizedPlace<'a, T>, ArgumentError> {
        let place = NonNull::new(self.0.cast_mut()).ok_or_else(null::<T>)?;
        // SAFETY: it is not NULL, and the type guarantees that it begins with its size.
        let size = check_size::<T>(unsafe { place.cast::<usize>().read_unaligned() })?;
        Ok(SizedPlace { place, size, lifetime: PhantomData })
    }

    /// Writes the struct to its place.
    pub fn write(self, value: &T) -> Result<(), ArgumentError> {
        self.place().map(|place| place.write(value))
    }
}

impl<T: SizedStruct> SizedPlace<'_, T> {
    /// Writes the fields that the caller's version of the struct has, and zeroes fields that only the caller's version
    /// has. Its `size` stays the caller's.
    pub fn write(self, value: &T) {
        let (head, end) = (size_of::<usize>(), self.size.min(size_of::<T>()));
        let (from, to) = (ptr::from_ref(value).cast::<u8>(), self.place.as_ptr().cast::<u8>());
        // SAFETY: both have at least `end` bytes, and the place has `size`.
        unsafe {
            ptr::copy_nonoverlapping(from.add(head), to.add(head), end - head);
            to.add(end).write_bytes(0, self.size - end);
        }
    }
}

impl<'a, T> SizedItems<'a, T> {
    /// Returns whether it is NULL.
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// Returns the array with its count.
    ///
    /// # Safety
    /// It is the count of this array.
    pub unsafe fn counted(self, count: impl Count) -> SizedCounted<'a, T> {
        SizedCounted { items: self, count: count.count() }
    }
}

impl<'a, T: SizedStruct> SizedCounted<'a, T> {
    /// Returns the count.
    pub fn count(self) -> usize {
        self.count
    }

    /// Returns whether the pointer is NULL.
    pub fn is_null(self) -> bool {
        self.items.is_null()
    }

    /// Reads the structs.
    pub fn get(self) -> Result<Vec<T>, ArgumentError> {
        /// More than any model or operator has.
        const MOST: usize = 1 << 12;
        let Self { items, count } = self;
        if count == 0 {
            return Ok(Vec::new());
        }
        if count > MOST {
            return Err(ArgumentError::TooManyStructs { name: T::NAME, count, most: MOST });
        }
        SizedIn(items.0, PhantomData).get()?;
        // SAFETY: the same struct was just read.
        let size = unsafe { items.0.cast::<usize>().read_unaligned() };
        let element = |index: usize| {
            let at = items.0.wrapping_byte_add(index * size);
            // SAFETY: the type guarantees `count` structs of this size.
            let own_size = unsafe { at.cast::<usize>().read_unaligned() };
            if own_size != size {
                return Err(ArgumentError::UnequalSize { name: T::NAME, index, size: own_size, first: size });
            }
            SizedIn(at, PhantomData).get()
        };
        (0..count).map(element).collect()
    }
}

fn null<T: SizedStruct>() -> ArgumentError {
    ArgumentError::Null { what: Argument::Struct, name: T::NAME }
}

fn check_size<T: SizedStruct>(size: usize) -> Result<usize, ArgumentError> {
    const MOST: usize = 1 << 16;
    if (T::FIRST_SIZE..=MOST).contains(&size) {
        return Ok(size);
    }
    Err(ArgumentError::WrongSize { name: T::NAME, size, least: T::FIRST_SIZE })
}

/// Implements [`SizedStruct`](crate::SizedStruct) for a `repr(C)` struct that begins with its size. Its other fields
/// are numbers, handles, and types of this crate, which all may be zero.
#[macro_export]
macro_rules! sized {
    ($struct:ident $(<$lifetime:lifetime>)?, $first_size:literal) => {
        // SAFETY: it is `repr(C)`, its first field is its size, and its fields are numbers, pointers, handles and
        // optional functions.
        unsafe impl $(<$lifetime>)? $crate::SizedStruct for $struct $(<$lifetime>)? {
            const NAME: &'static str = stringify!($struct);
            const FIRST_SIZE: usize = $first_size;
        }
        const _: () = assert!(size_of::<$struct>() >= $first_size, "a struct never shrinks");
        const _: () = assert!(std::mem::offset_of!($struct, size) == 0, "the size comes first");
    };
}

/// Defines methods of a struct that return its arrays together with their counts, which are in other fields:
/// `counted!(tensor_t<'a> { dims[rank] -> Counted<'a, usize> })`.
///
/// C guarantees that the one field is the count of the other. A library that creates such a struct must fill in an
/// array and its own count.
#[macro_export]
macro_rules! counted {
    ($struct:ident<$lifetime:lifetime> { $($array:ident[$count:ident] -> $counted:ty),+ $(,)? }) => {
        impl<$lifetime> $struct<$lifetime> {
            $(
                fn $array(&self) -> $counted {
                    // SAFETY: a C struct has as many elements as the field beside them says.
                    unsafe { self.$array.counted(self.$count) }
                }
            )+
        }
    };
}

#[cfg(test)]
mod tests {
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

    fn read_and_place(from: *mut Grown) -> (Result<Grown, ArgumentError>, SizedOut<'static, Grown>) {
        (SizedIn(from, PhantomData).get(), SizedOut(from, PhantomData))
    }

    #[test]
    fn a_program_that_knows_the_first_version_passes_and_gets_that() {
        let mut first = First { size: 16, value: 7, behind: 99 };
        let (read, place) = read_and_place((&raw mut first).cast());
        assert_eq!(read, Ok(Grown { size: 16, value: 7, added: 0 }));
        place.write(&Grown { size: 24, value: 8, added: 5 }).expect("it is long enough");
        assert_eq!((first.size, first.value, first.behind), (16, 8, 99), "nothing is written behind it");
    }

    #[test]
    fn a_program_that_knows_a_later_version_is_refused_only_if_it_uses_that() {
        let mut later = [32, 7, 5, 0usize];
        assert_eq!(read_and_place(later.as_mut_ptr().cast()).0.expect("the rest is zero").added, 5);
        later[3] = 1;
        let (read, place) = read_and_place(later.as_mut_ptr().cast());
        assert_eq!(read, Err(ArgumentError::UnknownFields("Grown")));
        place.write(&Grown { size: 24, value: 8, added: 6 }).expect("it is long enough");
        assert_eq!(later, [32, 8, 6, 0], "what this library does not know is zeroed");
    }

    #[test]
    fn a_size_that_was_not_set_is_refused() {
        for size in [0, 8, 15, usize::MAX] {
            let mut grown = Grown { size, value: 0, added: 0 };
            let (read, place) = read_and_place(&raw mut grown);
            assert_eq!(read, Err(ArgumentError::WrongSize { name: "Grown", size, least: 16 }));
            assert_eq!(place.place().map(drop), Err(ArgumentError::WrongSize { name: "Grown", size, least: 16 }));
        }
    }

    #[test]
    fn an_array_has_the_stride_of_its_first_struct() {
        let two = [[16, 1_usize], [16, 2]];
        // SAFETY: there are two, of 16 bytes each; the others are refused before they are read.
        let counted = |items: *const [usize; 2], count: usize| unsafe {
            SizedItems::<Grown>(items.cast(), PhantomData).counted(count)
        };
        let values =
            counted(two.as_ptr(), 2).get().expect("two structs").iter().map(|one| one.value).collect::<Vec<_>>();
        assert_eq!(values, [1, 2]);
        assert_eq!(counted(ptr::null(), 0).get(), Ok(Vec::new()));
        let many = ArgumentError::TooManyStructs { name: "Grown", count: 5000, most: 4096 };
        assert_eq!(counted(two.as_ptr(), 5000).get(), Err(many));
        assert_eq!(counted(ptr::null(), 1).get(), Err(null::<Grown>()));
        let unequal = [[16, 1_usize], [24, 2]];
        let wrong = ArgumentError::UnequalSize { name: "Grown", index: 1, size: 24, first: 16 };
        assert_eq!(counted(unequal.as_ptr(), 2).get(), Err(wrong));
    }
}
